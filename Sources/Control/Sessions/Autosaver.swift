import Events
import Grammar
package import LLVSCore
import Platform
import WorkingTree

/// Makes versions automatically, and makes pending changes durable: docs/writes.md, rules 2 and 6.
/// - Concurrency: two threads of its own; its locks are leaves and are acquired under the tree's.
package final class Autosaver: Sendable {
  /// The longest wait before the next cut's time is recomputed while changes are pending, in nanoseconds.
  private static let glance: UInt64 = 500_000_000
  /// The wait after a failed cut, and while free space is too low; in nanoseconds.
  private static let pause: UInt64 = 5_000_000_000
  private let service: ControlService
  private let pendingSync: PendingSync
  private let thread = ServiceThread()

  package init(_ service: ControlService) {
    self.service = service
    pendingSync = PendingSync(service.tree)
  }

  package func start() throws(StoreError) {
    let tree = service.tree
    tree.listenForPending { [weak self] in self?.wake() }
    try StoreError.wrapping { () throws(SystemError) in
      try pendingSync.start()
      try thread.start { [self] in run() }
    }
  }

  /// Ends the threads and waits for them; a cut in progress no longer waits for a quiet moment.
  package func stop() {
    thread.end { service.tree.hurry() }
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
      if let left = service.holds.left, next != nil {
        guard thread.sleep(max(min(left, Self.glance), 1_000_000), wakes: false) else { return }
        continue
      }
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
        // Space of removed files is freed now, not only with the next version.
        if isLow { _ = tree.files.makeRoom() }
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

  private func cut(_ reason: CutReason) -> String? {
    do throws(StoreError) {
      _ = try service.tree.cut(reason)
      return nil
    } catch {
      return ControlError(error).message
    }
  }
}
