internal import Foundation
internal import SQLite

/// The join of two databases: the versions that a merge takes and removes, and no more.
///
/// A version stays, or comes, if both have it, or if one has it and the other's vector does not cover its
/// dot. That is the merge of an observed-remove set by vectors (Bieniusa et al., "An optimized conflict-free
/// replicated set", 2012). It needs no notes about removed versions: so it also removes the versions that
/// come back where the original merges over a third copy, which has forgotten the notes.
///
/// Both tables are walked once in the order of their primary keys, side by side.
///
/// - Complexity: O(*n* + *m*) time in the entries; memory in the changes alone.
struct Join {
  /// A version of the source that comes.
  struct Arrival {
    var row: Int64
    var key: ScopedKey
    var dot: Dot
  }

  /// A version of the receiver that goes.
  struct Removal {
    var row: Int64
    var key: ScopedKey
    var dot: Dot
  }

  private(set) var arrivals: [Arrival] = []
  private(set) var removals: [Removal] = []

  var isEmpty: Bool { arrivals.isEmpty && removals.isEmpty }

  /// The keys whose versions change.
  var keys: Set<ScopedKey> {
    Set(arrivals.map(\.key)).union(removals.map(\.key))
  }

  /// A join that changes nothing.
  init() {}

  /// Compares two databases.
  ///
  /// - Throws: ``KeyValueCRDTError/authorTableInconsistency`` where an entry of either is not covered by
  ///   its own vector: the join would not know what the other knows.
  init(
    of receiver: Connection, _ receiverVector: VersionVector,
    with source: Connection, _ sourceVector: VersionVector
  ) throws {
    var mine = try Walk(receiver, receiverVector)
    defer { mine.end() }
    var theirs = try Walk(source, sourceVector)
    defer { theirs.end() }
    while mine.isAtRow || theirs.isAtRow {
      let order = Self.order(mine, theirs)
      if order == 0, mine.dot == theirs.dot {
        try mine.advance()
        try theirs.advance()
        continue
      }
      if order <= 0 {
        if sourceVector.covers(mine.dot) {
          removals.append(Removal(row: mine.row, key: mine.key, dot: mine.dot))
        }
        try mine.advance()
      }
      if order >= 0 {
        if !receiverVector.covers(theirs.dot) {
          arrivals.append(Arrival(row: theirs.row, key: theirs.key, dot: theirs.dot))
        }
        try theirs.advance()
      }
    }
  }

  /// Which of the two is at the lesser primary key: less than 0 for the first.
  private static func order(_ mine: Walk, _ theirs: Walk) -> Int {
    guard mine.isAtRow else { return 1 }
    guard theirs.isAtRow else { return -1 }
    let scopes = compare(mine.scopeBytes, theirs.scopeBytes)
    guard scopes == 0 else { return scopes }
    let keys = compare(mine.keyBytes, theirs.keyBytes)
    guard keys == 0 else { return keys }
    return mine.dot.author == theirs.dot.author ? 0 : mine.dot.author < theirs.dot.author ? -1 : 1
  }

  private static func compare(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
  ) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let one = left.baseAddress, let other = right.baseAddress {
      let order = memcmp(one, other, common)
      guard order == 0 else { return Int(order) }
    }
    return left.count - right.count
  }

  /// The entries of a database in the order of their primary key.
  private struct Walk {
    private let statement: Statement
    private let vector: VersionVector
    /// True if the file's texts are UTF-8, so that they need not be converted or copied.
    private let isPlain: Bool
    /// The author of the last row, and the number of the last write of this author's that is known.
    private var known = Dot(author: AuthorID(UUID()), usn: 0)
    private(set) var isAtRow = false
    private(set) var dot = Dot(author: AuthorID(UUID()), usn: 0)

    init(_ connection: Connection, _ vector: VersionVector) throws {
      self.vector = vector
      isPlain =
        try connection.sqlite.integer("SELECT encoding = 'UTF-8' FROM pragma_encoding") == 1
      // Not a kept statement: a database may be merged into itself, or within a block that reads.
      statement = try connection.sqlite.statement(
        "SELECT scope, key, authorId, usn, rowid FROM entry ORDER BY scope, key, authorId")
      try advance()
    }

    mutating func advance() throws {
      isAtRow = try statement.step()
      guard isAtRow else { return }
      guard statement.kind(0) == .text, statement.kind(1) == .text else {
        throw DatabaseError(.corrupt, "the scope or the key of an entry is not text")
      }
      dot = Dot(author: try AuthorID(statement, 2), usn: statement.integer(3))
      if known.author != dot.author {
        known = Dot(author: dot.author, usn: vector.writes[dot.author] ?? 0)
      }
      guard known.usn >= dot.usn else { throw KeyValueCRDTError.authorTableInconsistency }
    }

    func end() { statement.close() }

    var scopeBytes: UnsafeBufferPointer<UInt8> { bytes(0) }
    var keyBytes: UnsafeBufferPointer<UInt8> { bytes(1) }

    private func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
      // SQLite copies a text to end it with a NUL, but not a blob.
      isPlain ? statement.blob(column).assumingMemoryBound(to: UInt8.self) : statement.utf8(column)
    }

    var key: ScopedKey { statement.scopedKey(0, 1) }
    var row: Int64 { statement.integer(4) }
  }
}
