/// Concurrent values of one key that nobody has settled: the same on every replica with the same head.
package struct ValueConflict: Hashable, Sendable {
  /// A value, or a removal, that a merge dropped.
  package struct Revision: Hashable, Sendable {
    /// The version that stored the bytes, or that removed the value.
    package let version: HistoryNode
    /// Nil for a removal.
    package let entry: Entry?
  }

  package let key: Key
  /// What the clashing sides came from; nil where there was nothing.
  package let base: Entry?
  /// What the tree holds; nil for nothing.
  package let ours: Entry?
  /// What was dropped, newest first; none of a value that lost only its name.
  package let theirs: [Revision]

  package init(key: Key, base: Entry?, ours: Entry?, theirs: [Revision]) {
    self.key = key
    self.base = base
    self.ours = ours
    self.theirs = theirs
  }
}

/// A revision that a merge dropped, as long as no version settled it (docs/merging.md, M11 and
/// M12).
package struct UnsettledDrop: Hashable, Sendable {
  package let key: Key
  /// Whether what was dropped is a removal.
  package let isRemoval: Bool
  /// The version that stored the bytes, or that removed the value.
  package let version: VersionNumber
  /// The oldest merge that dropped it.
  package let merge: VersionNumber
  /// The merge's predecessor that has it.
  package let side: MergeSide
}

/// What conflicts are computed from, beside the history and the maps.
package protocol ConflictSource: AnyObject, Sendable {
  func metadata(ofVersion number: VersionNumber) throws(StoreError) -> Version.Metadata

  /// Versions up to a number, those among them that wrote, removed or settled a key; ascending.
  func versions(touching key: Key, upTo last: VersionNumber) throws(StoreError) -> [VersionNumber]

  /// The keys that a version wrote, removed or settled, or a few more.
  func keys(touchedBy number: VersionNumber) throws(StoreError) -> [Key]
}
