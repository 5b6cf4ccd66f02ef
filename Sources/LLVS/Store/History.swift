/// The versions of a store, newest first, each after all its descendants.
///
/// Versions are read on demand. ``Store/reloadHistory()`` reports unreadable ones.
public struct History: Sequence {
  let store: Store
  let heads: [HistoryHead]

  /// The ids of the versions without a successor.
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

  /// Returns the version with an id; nil if it is not in the store.
  public func version(identifiedBy versionId: Version.ID) -> Version? {
    store.answer(or: nil) { try store.backend.version(versionId) }
  }

  /// Returns the newest common ancestor; nil if there is none.
  /// - Throws: ``Store/Error/missingVersion``.
  public func greatestCommonAncestor(
    ofVersionsIdentifiedBy ids: (Version.ID, Version.ID)
  ) throws -> Version.ID? {
    try store.backend.commonAncestor(of: ids.0, and: ids.1)
  }

  /// Returns an iterator over all versions.
  public func makeIterator() -> Iterator {
    Iterator(history: self, ids: allVersionIdentifiers.makeIterator())
  }

  /// Iterates over versions, newest first.
  public struct Iterator: IteratorProtocol {
    let history: History
    var ids: IndexingIterator<[Version.ID]>

    /// Returns the next version; nil at the end.
    public mutating func next() -> Version? {
      while let id = ids.next() {
        if let version = history.version(identifiedBy: id) { return version }
      }
      return nil
    }
  }
}
