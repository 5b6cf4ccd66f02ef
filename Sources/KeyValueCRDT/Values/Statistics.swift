/// The size of a database's contents.
public struct Statistics: Equatable, Sendable {
  /// The number of versions of keys, deletions included.
  public let entryCount: Int
  /// The number of authors that the database knows of.
  public let authorCount: Int
  /// The number of notes about removed versions.
  public let tombstoneCount: Int
  /// True if each entry's author is listed, with a number that is no smaller.
  ///
  /// ``KeyValueDatabase/eraseVersionHistory(keepingKnowledge:)`` repairs a database that merges refuse.
  public let authorTableIsConsistent: Bool

  /// Statistics to compare others with.
  public init(
    entryCount: Int, authorCount: Int, tombstoneCount: Int, authorTableIsConsistent: Bool
  ) {
    self.entryCount = entryCount
    self.authorCount = authorCount
    self.tombstoneCount = tombstoneCount
    self.authorTableIsConsistent = authorTableIsConsistent
  }
}
