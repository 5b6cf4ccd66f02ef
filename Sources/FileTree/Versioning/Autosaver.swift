package import LLVS
import Platform

/// Makes versions by itself, and brings what is pending to the disk: rules 2 and 6 of section 4.
///
/// - Concurrency: two threads of its own; its locks are leaves and are taken under the tree's.
package final class Autosaver: Sendable {
  private struct State {
    var isStopping = false
    var hasEnded = false
    var isWoken = false
  }

  /// How often the time of the next cut is looked at anew while something is pending: a save moves it.
  private static let glance: UInt64 = 500_000_000
  /// How long to wait after a cut that failed, and while there is too little space.
  private static let pause: UInt64 = 5_000_000_000

  private let service: ControlService
  private let pendingSync: PendingSync
  private let state = Monitor(State())

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
    try pendingSync.start()
    do throws(SystemError) {
      try SystemThread.detach { [self] in run() }
    } catch {
      state.withLock { $0.hasEnded = true }
      throw .system(error)
    }
  }

  /// Ends the threads and waits until they have; what is pending stays so, but for a version under way, which
  /// waits for no quiet then.
  package func stop() {
    state.withLock { $0.isStopping = true }
    state.broadcast()
    service.versioner.hurry()
    _ = state.wait { $0.hasEnded ? true : nil }
    pendingSync.stop()
  }

  private func wake() {
    pendingSync.wake()
    state.withLock { $0.isWoken = true }
    state.broadcast()
  }

  /// Waits until the time is up, something becomes pending, or the end; false for the end.
  private func sleep(_ nanoseconds: UInt64?, forWake: Bool) -> Bool {
    _ = state.wait(nanoseconds: nanoseconds) { state -> Bool? in
      state.isStopping || forWake && state.isWoken ? true : nil
    }
    return state.withLock { state in
      state.isWoken = false
      return !state.isStopping
    }
  }

  private func run() {
    defer {
      state.withLock { $0.hasEnded = true }
      state.broadcast()
    }
    let tree = service.tree
    var lastError = ""
    var isLow = false
    while !state.withLock({ $0.isStopping }) {
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
        if isLow || failed != nil {
          guard sleep(Self.pause, forWake: false) else { return }
        }
        continue
      }
      guard let next else {
        guard sleep(nil, forWake: true) else { return }
        continue
      }
      let wait = min(next.tick - now, Self.glance)
      guard sleep(max(wait, 1_000_000), forWake: false) else { return }
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
