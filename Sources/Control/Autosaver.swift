import Grammar
package import LLVSCore
import Platform
import WorkingTree

/// Makes versions by itself, and brings what is pending to the disk: docs/writes.md, rules 2 and 6.
///
/// - Concurrency: two threads of its own; its locks are leaves and are taken under the tree's.
package final class Autosaver: Sendable {
  /// How often the time of the next cut is looked at anew while something is pending: a save moves it.
  private static let glance: UInt64 = 500_000_000
  /// How long to wait after a cut that failed, and while there is too little space.
  private static let pause: UInt64 = 5_000_000_000

  private let service: ControlService
  private let pendingSync: PendingSync
  private let thread = ServiceThread()

  /// Prepares threads for the live tree of a service.
  package init(_ service: ControlService) {
    self.service = service
    pendingSync = PendingSync(service.tree)
  }

  /// Starts the threads.
  ///
  /// - Throws: ``StoreError/system(_:)`` where there can be no thread.
  package func start() throws(StoreError) {
    let tree = service.tree
    tree.lock.withLock { _ in
      tree.wake = { [weak self] in self?.wake() }
    }
    do throws(SystemError) {
      try pendingSync.start()
      try thread.start { [self] in run() }
    } catch {
      throw .system(error)
    }
  }

  /// Ends the threads and waits until they have; what is pending stays so, but for a version under way, which
  /// waits for no quiet then.
  package func stop() {
    thread.end { service.versioner.hurry() }
    pendingSync.stop()
  }

  private func wake() {
    pendingSync.wake()
    thread.wake()
  }

  private func run() {
    let tree = service.tree
    var lastError = ""
    var isLow = false
    while !thread.isEnding {
      let now = SystemClock.monotonic()
      let next = tree.nextCut()
      if let next, next.tick <= now {
        let wasLow = isLow
        isLow = service.isBelowReserve
        if isLow != wasLow {
          service.log.add(
            "space",
            isLow ? "too little is free: no versions by themselves" : "enough is free again"
          )
        }
        let failed = isLow ? nil : cut(next.reason)
        if let failed, failed != lastError {
          service.log.add("error", "automatic version: \(failed)")
        }
        lastError = failed ?? ""
        // What was removed since is room at once, not only when a version takes the rest.
        if isLow { _ = tree.reclaim() }
        if isLow || failed != nil {
          guard thread.sleep(Self.pause, wakes: false) else { return }
        }
        continue
      }
      guard let next else {
        guard thread.sleep(nil, wakes: true) else { return }
        continue
      }
      let wait = min(next.tick - now, Self.glance)
      guard thread.sleep(max(wait, 1_000_000), wakes: false) else { return }
    }
  }

  private func cut(_ reason: LiveTree.CutReason) -> String? {
    do throws(StoreError) {
      _ = try service.versioner.cut(reason)
      return nil
    } catch {
      return ControlError(error).message
    }
  }
}
