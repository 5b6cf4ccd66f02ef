/// The versions of a store and their order of descent; iterated newest first, each version after
/// all its descendants.
///
/// Only the versions that are asked for are read.
package struct History: Sequence {
  let store: Store

  /// The ids of the versions without a successor.
  package var headIdentifiers: Set<Version.ID> {
    get throws(StoreError) { Set(try store.graph.heads().map(\.id)) }
  }

  /// The ids of all versions, in the order of iteration.
  ///
  /// - Complexity: O(*n* log *n*) in versions.
  package var allVersionIdentifiers: [Version.ID] {
    get throws(StoreError) {
      var ids: [Version.ID] = []
      var walk = try HistoryWalk(store.graph, from: store.headNumbers())
      while let node = try walk.next() { ids.append(node.id) }
      return ids
    }
  }

  /// Returns the greatest common ancestor of two versions: of the latest common ancestors the
  /// greatest by (timestamp, id); nil if there is none.
  ///
  /// - Throws: ``StoreError/missingVersion(_:)`` if one of them is not in the store.
  package func greatestCommonAncestor(
    ofVersionsIdentifiedBy ids: (Version.ID, Version.ID)
  ) throws(StoreError) -> Version.ID? {
    guard let first = try store.version(ids.0) else { throw .missingVersion(ids.0) }
    guard let second = try store.version(ids.1) else { throw .missingVersion(ids.1) }
    return try store.graph.commonAncestors(first.number, second.number).last?.id
  }

  /// Returns an iterator over all versions, newest first; it ends early if the store cannot be
  /// read.
  package func makeIterator() -> Iterator { Iterator(store: store) }

  /// An iterator over versions: of those whose descendants were all returned, the newest by
  /// (timestamp, generation, id) is next.
  ///
  /// It returns the versions that were in the store when it was created.
  package struct Iterator: IteratorProtocol {
    private let store: Store
    private var walk: HistoryWalk?

    init(store: Store) {
      self.store = store
      walk = try? HistoryWalk(store.graph, from: store.headNumbers())
    }

    /// Returns the next version; nil at the end.
    package mutating func next() -> Version? {
      guard let node = try? walk?.next(), let record = try? store.version(node.number),
        let version = try? store.version(from: record)
      else {
        walk = nil
        return nil
      }
      return version
    }
  }
}
