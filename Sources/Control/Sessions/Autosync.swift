import Grammar
package import LLVSCore
import Platform

/// Syncs with all peers at the interval of the setting `autosync`, varied at random by up to a
/// quarter, so that replicas with equal timers do not all sync at the same time. It makes no
/// versions while too little space is free, and merges nothing with `automerge=off`.
///
/// - Concurrency: a thread of its own.
package final class Autosync: Sendable {
  private let service: ControlService
  private let thread = ServiceThread()

  /// Prepares the thread; ``start()`` starts it.
  package init(_ service: ControlService) {
    self.service = service
  }

  /// Starts the thread.
  ///
  /// - Throws: ``StoreError/system(_:)`` if no thread can be started.
  package func start() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in try thread.start { [self] in run() } }
  }

  /// Ends the thread, and the exchange that it is in, and waits until it has ended.
  package func stop() {
    thread.end {
      // The lock is taken once, so that the thread either sees that it must end or is waiting
      // already.
      service.settingsChanged.withLock { _ in }
      service.settingsChanged.broadcast()
    }
  }

  /// Returns an interval varied at random by up to a quarter; both in nanoseconds.
  static func jittered(_ interval: UInt64) -> UInt64 {
    let quarter = interval / 4
    return interval - quarter + UInt64.random(in: 0...(2 * quarter))
  }

  private func run() {
    while !thread.isEnding {
      let seen = service.settingsChanged.withLock { $0 }
      let interval = service.settings.autosync
      // A changed setting starts a new interval.
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
      // The service has recorded the error in the log and in the status.
    }
  }
}
