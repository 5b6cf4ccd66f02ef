/// The versions of a store and how they descend from each other, newest first when iterated.
///
/// Nothing is loaded but what is asked for.
public struct History: Sequence {
  let store: Store

  /// The ids of the versions without a successor.
  public var headIdentifiers: Set<Version.ID> {
    get throws(StoreError) { Set(try store.graph.heads().map(\.id)) }
  }

  /// The ids of all versions.
  ///
  /// - Complexity: O(*n*) in versions.
  public var allVersionIdentifiers: [Version.ID] {
    get throws(StoreError) {
      var ids: [Version.ID] = []
      var last: VersionRecord?
      while true {
        let page = try store.versionsNewestFirst(before: last, limit: 256)
        guard let end = page.last else { return ids }
        ids += page.map(\.id)
        last = end
      }
    }
  }

  /// The newest head.
  public var mostRecentHead: Version? {
    get throws(StoreError) { try store.mostRecentHead }
  }

  /// Returns the version with an id; nil if it is not in the store.
  public func version(identifiedBy id: Version.ID) throws(StoreError) -> Version? {
    try store.version(identifiedBy: id)
  }

  /// Returns the greatest common ancestor of two versions: of those that are no ancestors of others the
  /// greatest by (timestamp, id); nil if there is none.
  ///
  /// - Throws: ``StoreError/missingVersion(_:)`` if one of them is not in the store.
  public func greatestCommonAncestor(
    ofVersionsIdentifiedBy ids: (Version.ID, Version.ID)
  ) throws(StoreError) -> Version.ID? {
    guard let first = try store.version(ids.0) else { throw .missingVersion(ids.0) }
    guard let second = try store.version(ids.1) else { throw .missingVersion(ids.1) }
    return try store.graph.commonAncestors(first.number, second.number).last?.id
  }

  /// Returns an iterator over all versions from the newest down; it ends early where the store cannot
  /// be read.
  public func makeIterator() -> Iterator { Iterator(store: store) }

  /// An iterator over versions, newest first by (timestamp, generation, id).
  public struct Iterator: IteratorProtocol {
    private let store: Store
    private var page: ArraySlice<VersionRecord> = []
    private var last: VersionRecord?
    private var isDone = false

    init(store: Store) {
      self.store = store
    }

    /// Returns the next version; nil at the end.
    public mutating func next() -> Version? {
      if page.isEmpty, !isDone {
        page = ((try? store.versionsNewestFirst(before: last, limit: 256)) ?? [])[...]
        isDone = page.isEmpty
      }
      guard let record = page.popFirst() else { return nil }
      last = record
      return try? store.version(from: record)
    }
  }
}
