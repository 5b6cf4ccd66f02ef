import Events
import Grammar
package import LLVSCore
import Platform
import Search

/// Brings the index of words up to each new version, once a search has created it. A commit only wakes its thread,
/// which runs at low priority. `search=off` ends it; searches then catch up.
/// - Concurrency: a thread of its own.
package final class SearchFeed: Sendable {
  /// The wait after a version, so that several successive ones are processed together; in nanoseconds.
  private static let pause: UInt64 = 1_000_000_000
  private let service: ControlService
  private let thread = ServiceThread()
  package init(_ service: ControlService) { self.service = service }

  package func start() throws(StoreError) {
    try StoreError.translating(
      try thread.start { [self] in
        let listener = service.store.listenForVersions { [thread] in thread.wake() }
        defer { service.store.stopListening(listener) }
        SystemThread.yieldToOthers()
        run()
      })
  }

  /// Ends the thread and its catching up, and waits for it.
  package func stop() { thread.end() }

  private func run() {
    var lastError = ""
    while thread.sleep(nil, wakes: true) {
      guard thread.sleep(Self.pause, wakes: false) else { return }
      guard service.settings.search, SearchIndex.exists(of: service.store),
        !service.isBelowReserve
      else { continue }
      do throws(StoreError) {
        try SearchIndex(
          of: service.store, textLimit: Int(service.settings.searchLimit),
          isCancelled: { [thread] in thread.isEnding }
        ).catchUp()
        lastError = ""
      } catch {
        if case .cancelled = error { return }
        let text = ControlError(error).message
        if text != lastError { service.log.add("error", "the index of words: \(text)") }
        lastError = text
      }
    }
  }
}
