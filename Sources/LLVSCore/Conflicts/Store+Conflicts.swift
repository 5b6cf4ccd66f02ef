internal import Synchronization

/// Unsettled drops of the heads asked about last, in memory; those of the newest also in the index.
final class ConflictCache: Sendable {
  private struct State {
    var known: [KnownDrops] = []
    var hasRead = false
  }

  private static let limit = 8
  // A leaf lock.
  private let state = Mutex(State())

  /// Whether what the index holds is still to be read; true once.
  func beginReading() -> Bool {
    state.withLock { state in
      defer { state.hasRead = true }
      return !state.hasRead
    }
  }

  /// What is known of heads, newest first.
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

extension Store: ConflictSource {
  package func metadata(
    ofVersion number: VersionNumber
  ) throws(StoreError) -> Version.Metadata {
    try metadata(of: try history.record(number))
  }

  package func versions(
    touching key: Key, upTo last: VersionNumber
  ) throws(StoreError) -> [VersionNumber] {
    try numbers(changing: key, upTo: last.rawValue)
  }

  package func keys(touchedBy number: VersionNumber) throws(StoreError) -> [Key] {
    try changedKeys(of: try history.record(number))
  }
}

extension Store {
  /// The conflicts that are open at a head (docs/merging.md, M12), in ascending order of keys: the
  /// same on every replica that has the head.
  ///
  /// - Parameters:
  ///   - head: a version that is committed.
  ///   - isWanted: which keys to look at; what a conflict's sides hold is read of these alone.
  /// - Returns: the conflicts, each with at least one dropped revision.
  /// - Throws: what reading the store throws.
  /// - Complexity: O(versions since the head last asked about, and what is open).
  /// - Concurrency: any thread.
  package func openConflicts(
    at head: VersionNumber, where isWanted: (Key) -> Bool = { _ in true }
  ) throws(StoreError) -> [ValueConflict] {
    let finder = ConflictFinder(merger: Merger(graph: graph, maps: history), source: self)
    return try finder.conflicts(try unsettledDrops(at: head, finder), where: isWanted)
  }

  /// The keys of the conflicts open at a head, ascending: what ``openConflicts(at:where:)`` finds.
  package func openConflictKeys(at head: VersionNumber) throws(StoreError) -> [Key] {
    let finder = ConflictFinder(merger: Merger(graph: graph, maps: history), source: self)
    return try finder.keys(try unsettledDrops(at: head, finder))
  }

  private func unsettledDrops(
    at head: VersionNumber, _ finder: ConflictFinder
  ) throws(StoreError) -> KnownDrops {
    if conflictCache.beginReading(), let stored = index.conflicts(),
      let record = try version(stored.known.head), record.id == stored.id
    {
      conflictCache.insert(stored.known)
    }
    var ancestor: KnownDrops?
    for known in conflictCache.candidates(upTo: head) where ancestor == nil {
      if known.head == head { return known }
      if try graph.isAncestorOrSelf(known.head, of: head) { ancestor = known }
    }
    let known = try finder.unsettledDrops(at: head, knowing: ancestor)
    conflictCache.insert(known)
    index.note(conflicts: known, of: try history.record(head).id)
    return known
  }
}
