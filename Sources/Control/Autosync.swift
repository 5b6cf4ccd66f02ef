import Grammar
package import LLVSCore
import Platform

/// Syncs with all peers at the interval of the setting `autosync`, give or take a quarter, so that a fleet
/// on equal timers does not stay in step. Below the reserve it makes no versions, and with `automerge=off`
/// it merges nothing.
///
/// - Concurrency: a thread of its own.
package final class Autosync: Sendable {
  private let service: ControlService
  private let thread = ServiceThread()

  package init(_ service: ControlService) {
    self.service = service
  }

  /// Starts the thread.
  ///
  /// - Throws: ``StoreError/system(_:)`` where there can be no thread.
  package func start() throws(StoreError) {
    do throws(SystemError) {
      try thread.start { [self] in run() }
    } catch {
      throw .system(error)
    }
  }

  /// Ends the thread, and an exchange that it is in, and waits until it has.
  package func stop() {
    thread.end {
      // Taken once, so that the thread either sees the end or waits already.
      service.settingsChanged.withLock { _ in }
      service.settingsChanged.broadcast()
    }
  }

  /// An interval and its jitter, in nanoseconds.
  static func jittered(_ interval: UInt64) -> UInt64 {
    let quarter = interval / 4
    return interval - quarter + UInt64.random(in: 0...(2 * quarter))
  }

  private func run() {
    while !thread.isEnding {
      let seen = service.settingsChanged.withLock { $0 }
      let interval = service.settings.autosync
      // Another setting begins another interval.
      let isChanged = service.settingsChanged.wait(nanoseconds: interval.map(Self.jittered)) {
        (changes) -> Bool? in
        changes != seen || thread.isEnding ? true : nil
      }
      if thread.isEnding { return }
      if isChanged != true, interval != nil { sync() }
    }
  }

  private func sync() {
    do throws(ControlError) {
      guard try !service.allPeers().isEmpty else { return }
      let context = CommandContext(isCancelled: { [self] in thread.isEnding }, isAutomatic: true)
      _ = try service.run(.sync(peers: []), context: context)
    } catch {
      // Noted in the log and in status by the service.
    }
  }
}
