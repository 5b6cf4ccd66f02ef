import Grammar
import Platform
private import Synchronization

/// Keeps changes out of versions so that a program's many files become one version (docs/control-file.md). One
/// handle holds at a time, until it commits, is closed (also by a kill), or the time is over.
/// - Concurrency: any thread; a leaf lock.
package final class VersionHolds: Sendable {
  package struct Handle: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)
    private let number: UInt64

    init() { number = Self.last.add(1, ordering: .relaxed).newValue }
  }

  private struct Hold {
    var handle: Handle
    var end: UInt64
  }

  private struct State {
    var hold: Hold?
    var waiting = 0
  }

  private let state = Monitor(State())
  init() {}

  /// The remaining time, in nanoseconds; nil while no handle holds.
  package var left: UInt64? {
    let now = SystemClock.monotonic()
    return state.withLock { state in state.hold.flatMap { $0.end > now ? $0.end - now : nil } }
  }

  /// Waits until no handle but this one holds; nil means no handle.
  func wait(for handle: Handle?, _ isCancelled: () -> Bool) throws(ControlError) {
    state.withLock { $0.waiting += 1 }
    defer {
      state.withLock { $0.waiting -= 1 }
      state.broadcast()
    }
    try wait(isCancelled) { Self.isFree($0.hold, for: handle) }
  }

  func waitToBegin(_ handle: Handle, _ isCancelled: () -> Bool) throws(ControlError) {
    try wait(isCancelled) { Self.mayBegin($0, handle) }
  }

  private func wait(
    _ isCancelled: () -> Bool, until isReady: (State) -> Bool
  ) throws(ControlError) {
    while !state.withLock({ isReady($0) }) {
      if isCancelled() { throw ControlError(.interrupted, "interrupted") }
      // Also wakes to check for cancellation and the end of the time.
      _ = state.wait(nanoseconds: 100_000_000) { isReady($0) ? true : nil }
    }
  }

  /// Begins to hold; false if another handle holds, or if commands have waited for its end.
  func begin(_ handle: Handle, nanoseconds: UInt64) -> Bool {
    state.withLock { state in
      guard Self.mayBegin(state, handle) else { return false }
      state.hold = Hold(handle: handle, end: SystemClock.monotonic() + nanoseconds)
      return true
    }
  }

  func end(of handle: Handle) {
    state.withLock { state in if state.hold?.handle == handle { state.hold = nil } }
    state.broadcast()
  }

  /// Commands that waited go first, because successive holders would block them forever.
  private static func mayBegin(_ state: State, _ handle: Handle) -> Bool {
    isFree(state.hold, for: handle) && state.waiting == 0
  }

  private static func isFree(_ hold: Hold?, for handle: Handle?) -> Bool {
    guard let hold, hold.handle != handle else { return true }
    return hold.end <= SystemClock.monotonic()
  }
}
