package import LLVS
import Platform

/// Makes versions by itself, and brings what is pending to the disk: rules 2 and 6 of section 4.
///
/// - Concurrency: a thread of its own; its lock is a leaf and is taken under the tree's.
package final class Autosaver: Sendable {
  private struct State {
    var isStopping = false
    var hasEnded = false
    var isWoken = false
  }

  /// How long what was written may be away from the disk.
  private static let syncInterval: UInt64 = 5_000_000_000
  /// How often the time of the next cut is looked at anew while something is pending: a save moves it.
  private static let glance: UInt64 = 500_000_000
  /// How long to wait after a cut that failed, and while there is too little space.
  private static let pause: UInt64 = 5_000_000_000

  private let service: ControlService
  private let state = Monitor(State())

  /// Prepares a thread for the live tree of a service.
  package init(_ service: ControlService) {
    self.service = service
  }

  /// Starts the thread.
  ///
  /// - Throws: ``StoreError/system(_:)`` where there can be no thread.
  package func start() throws(StoreError) {
    let tree = service.tree
    tree.lock.withLock { _ in
      tree.wake = { [weak self] in self?.wake() }
    }
    do throws(SystemError) {
      try SystemThread.detach { [self] in run() }
    } catch {
      state.withLock { $0.hasEnded = true }
      throw .system(error)
    }
  }

  /// Ends the thread and waits until it has; what is pending stays so.
  package func stop() {
    state.withLock { $0.isStopping = true }
    state.broadcast()
    _ = state.wait { $0.hasEnded ? true : nil }
  }

  private func wake() {
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
    var synced = SystemClock.monotonic()
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
          sync(&synced)
          guard sleep(Self.pause, forWake: false) else { return }
        }
        continue
      }
      if now - synced >= Self.syncInterval { sync(&synced) }
      guard let next else {
        // What was written and made a version of, or taken back, is on the disk or needs not to be.
        let isDurable = sync(&synced)
        guard sleep(isDurable ? nil : Self.pause, forWake: true) else { return }
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

  @discardableResult
  private func sync(_ last: inout UInt64) -> Bool {
    defer { last = SystemClock.monotonic() }
    if service.tree.journal.isDueForRenewal() {
      // Half of it, else it would be written for little.
      _ = service.tree.renewJournal(toFree: service.tree.journal.generationEnd.end / 2)
    }
    do throws(FSError) {
      try service.tree.sync()
      return true
    } catch {
      // Told once: until it is over, the journal's own line in status says so.
      service.tree.damage.tell("what is pending could not be brought to the disk: \(error)")
      return false
    }
  }
}
