/// The size of a database's contents.
public struct Statistics: Equatable, Sendable {
  public let entryCount: Int
  public let authorCount: Int
  public let tombstoneCount: Int
  /// True if each entry's author is listed, with a number that is no smaller.
  /// ``KeyValueDatabase/eraseVersionHistory(keepingKnowledge:)`` repairs a database that merges refuse.
  public let authorTableIsConsistent: Bool

  public init(
    entryCount: Int, authorCount: Int, tombstoneCount: Int, authorTableIsConsistent: Bool
  ) {
    self.entryCount = entryCount
    self.authorCount = authorCount
    self.tombstoneCount = tombstoneCount
    self.authorTableIsConsistent = authorTableIsConsistent
  }
}
