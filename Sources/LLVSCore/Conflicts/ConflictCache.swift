internal import Synchronization

/// Unsettled drops of the heads used last, in memory; those of the newest also in the index.
final class ConflictCache: Sendable {
  private struct State {
    var known: [KnownDrops] = []
    var hasRead = false
  }

  private static let limit = 8
  // A leaf lock.
  private let state = Mutex(State())

  /// True, once, if the drops in the index are still to be read.
  func beginReading() -> Bool {
    state.withLock { state in
      defer { state.hasRead = true }
      return !state.hasRead
    }
  }

  /// The drops of the heads that were used last, newest first.
  func candidates(upTo head: VersionNumber) -> [KnownDrops] {
    state.withLock { $0.known }.filter { $0.head <= head }.sorted { $1.head < $0.head }
  }

  func insert(_ known: KnownDrops) {
    state.withLock { state in
      state.known.removeAll { $0.head == known.head }
      if state.known.count >= Self.limit { state.known.removeFirst() }
      state.known.append(known)
    }
  }
}
