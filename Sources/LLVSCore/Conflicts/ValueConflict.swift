/// Concurrent values of one key that no version has settled: the same on every replica with the same head.
package struct ValueConflict: Hashable, Sendable {
  /// A value, or a removal, that a merge dropped.
  package struct Revision: Hashable, Sendable {
    /// The version that stored the bytes, or that removed the value.
    package let version: HistoryNode
    package let entry: Entry?
    /// The version that made it; for bytes that a merge made of both sides, the version of the newer side.
    package let maker: HistoryNode

    package init(version: HistoryNode, entry: Entry?, maker: HistoryNode? = nil) {
      self.version = version
      self.entry = entry
      self.maker = maker ?? version
    }
  }

  package let key: Key
  package let base: Entry?
  package let ours: Entry?
  /// The version that stored or removed the kept value; for bytes made of both sides, the newer.
  package let kept: HistoryNode?
  /// The dropped revisions, newest first; empty for a value that lost only its name.
  package let theirs: [Revision]

  package init(key: Key, base: Entry?, ours: Entry?, kept: HistoryNode? = nil, theirs: [Revision]) {
    self.key = key
    self.base = base
    self.ours = ours
    self.kept = kept
    self.theirs = theirs
  }
}

/// A revision that a merge dropped and no version settled yet (docs/merging.md, M11, M12).
package struct UnsettledDrop: Hashable, Sendable {
  package let key: Key
  package let isRemoval: Bool
  /// The version that stored the bytes, or that removed the value.
  package let version: VersionNumber
  /// The oldest merge that dropped it.
  package let merge: VersionNumber
  /// The merge's predecessor that has it.
  package let side: MergeSide
}

/// Reads the contents for computing conflicts, in addition to the history and the maps.
package protocol ConflictSource: AnyObject, Sendable {
  func metadata(ofVersion number: VersionNumber) throws(StoreError) -> Version.Metadata
  func number(ofVersion id: Version.ID) throws(StoreError) -> VersionNumber?

  /// Versions up to a number, those among them that wrote, removed, settled or opened a key again; ascending.
  func versions(touching key: Key, upTo last: VersionNumber) throws(StoreError) -> [VersionNumber]

  /// The keys that a version wrote, removed, settled or opened again, or a few more.
  func keys(touchedBy number: VersionNumber) throws(StoreError) -> [Key]

  /// True for the bytes of an SQLite database.
  func isDatabase(_ content: StoredContent) throws(StoreError) -> Bool
}
