internal import Synchronization

/// The order of concurrent exchanges of one store, with different remotes or the same.
/// - Concurrency: callable from any thread.
package final class RemoteLedger: Sendable {
  private struct State {
    var changes: UInt64 = 0
    var lastSequence: UInt64?
    var memory: (any Sendable)?
  }

  // A leaf lock.
  private let state = Mutex(State())

  init() {}

  /// The number of transactions of this process that changed notes about bundles.
  package var changes: UInt64 { state.withLock { $0.changes } }

  func noteChange() {
    state.withLock { state in
      state.changes += 1
      state.memory = nil
    }
  }

  /// The memory that an exchange keeps for the next one of this process; nil once a transaction has changed notes
  /// about bundles. Only this process changes them while it has the store open for writing.
  package var memory: (any Sendable)? { state.withLock { $0.memory } }

  /// Keeps `memory` until the next change, unless there was one after the number `changes` was read.
  package func remember(_ memory: any Sendable, since changes: UInt64) {
    state.withLock { if $0.changes == changes { $0.memory = memory } }
  }

  /// Returns a sequence number, at least `first`, that no other exchange of this process got.
  package func reserveSequence(atLeast first: UInt64) -> UInt64 {
    state.withLock { state in
      let next = max(first, state.lastSequence.map { $0 + 1 } ?? 0)
      state.lastSequence = next
      return next
    }
  }
}
