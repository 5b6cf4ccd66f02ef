/// The size of a database's contents.
public struct Statistics: Equatable, Sendable {
  /// The number of versions of keys, deletions included.
  public let entryCount: Int
  /// The number of authors that the database knows of.
  public let authorCount: Int
  /// The number of notes about removed versions.
  public let tombstoneCount: Int
  /// True if each entry is of an author in the list, and none is newer than the list says.
  ///
  /// If not, ``KeyValueDatabase/merge(source:dryRun:)`` refuses the database, and
  /// ``KeyValueDatabase/eraseVersionHistory(keepingKnowledge:)`` makes it sound again.
  public let authorTableIsConsistent: Bool

  /// Creates statistics, to compare others with.
  public init(
    entryCount: Int, authorCount: Int, tombstoneCount: Int, authorTableIsConsistent: Bool
  ) {
    self.entryCount = entryCount
    self.authorCount = authorCount
    self.tombstoneCount = tombstoneCount
    self.authorTableIsConsistent = authorTableIsConsistent
  }
}
