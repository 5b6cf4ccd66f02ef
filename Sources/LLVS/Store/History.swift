/// The versions of a store, newest first, each after all its descendants.
/// Versions are read on demand. ``Store/reloadHistory()`` reports unreadable ones.
public struct History: Sequence {
  let store: Store
  let heads: [HistoryHead]

  public var headIdentifiers: Set<Version.ID> { Set(heads.map(\.id)) }

  /// The ids of all versions, in the order of iteration.
  /// - Complexity: O(*n* log *n*) in versions.
  public var allVersionIdentifiers: [Version.ID] {
    var ids: [Version.ID] = []
    store.answer(or: ()) { try store.backend.forEachVersionID { ids.append($0) } }
    return ids
  }

  /// The newest version without a successor, by timestamp; nil in an empty store.
  public var mostRecentHead: Version? {
    heads.max { ($0.timestamp, $0.id) < ($1.timestamp, $1.id) }
      .flatMap { version(identifiedBy: $0.id) }
  }

  public func version(identifiedBy versionId: Version.ID) -> Version? {
    store.answer(or: nil) { try store.backend.version(versionId) }
  }

  /// A failure of the original's history; here only the second is thrown.
  public enum Error: Swift.Error, Hashable, Sendable {
    case attemptToAddPreexistingVersion(id: String)
    case nonExistentVersionEncountered(identifier: String)
  }

  /// Returns the newest common ancestor; nil if there is none.
  /// - Throws: ``Error/nonExistentVersionEncountered(identifier:)``; ``Store/Error``.
  public func greatestCommonAncestor(
    ofVersionsIdentifiedBy ids: (Version.ID, Version.ID)
  ) throws -> Version.ID? {
    for id in [ids.0, ids.1] where try !store.backend.contains(id) {
      throw Error.nonExistentVersionEncountered(identifier: id.rawValue)
    }
    return try store.backend.commonAncestor(of: ids.0, and: ids.1)
  }

  public func makeIterator() -> TopologicalIterator {
    TopologicalIterator(history: self, ids: allVersionIdentifiers.makeIterator())
  }

  public struct TopologicalIterator: IteratorProtocol {
    public let history: History
    var ids: IndexingIterator<[Version.ID]>

    public mutating func next() -> Version? {
      while let id = ids.next() {
        if let version = history.version(identifiedBy: id) { return version }
      }
      return nil
    }
  }
}
