import LLVSCore
import Platform

/// Counts the open conflicts at the head on another thread, so that the page does not wait.
/// - Concurrency: any thread; its lock is a leaf.
final class ConflictCount: Sendable {
  private struct State {
    var head: VersionNumber?
    /// Nil if the conflicts at that head could not be counted.
    var count: Int?
    var isCounting: VersionNumber?
  }

  /// Most counts finish within this time, in nanoseconds.
  private static let patience: UInt64 = 200_000_000
  private let store: Store
  private let pool: WorkerPool
  private let state = Monitor(State())

  init(_ store: Store, pool: WorkerPool) {
    self.store = store
    self.pool = pool
  }

  /// Returns the number of keys with open conflicts; nil while unknown.
  func current() throws(StoreError) -> Int? {
    guard let head = try store.state().head else { return 0 }
    let starts = state.withLock { state -> Bool in
      guard state.head != head, state.isCounting != head else { return false }
      state.isCounting = head
      return true
    }
    if starts { pool.run { [self] in count(at: head) } }
    return state.wait(nanoseconds: Self.patience) { state -> Int?? in
      state.head == head ? .some(state.count) : nil
    } ?? nil
  }

  private func count(at head: VersionNumber) {
    // The page of conflicts reports why they cannot be read.
    let count = try? store.openConflictKeys(at: head).count
    state.withLock { state in
      state.head = head
      state.count = count
      if state.isCounting == head { state.isCounting = nil }
    }
    state.broadcast()
  }
}
