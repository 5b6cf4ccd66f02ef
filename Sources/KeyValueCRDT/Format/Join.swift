internal import Foundation
internal import SQLite

/// The join of two databases: the versions that a merge adds and removes.
///
/// A version is in the join if both have it, or if one has it and the other's vector does not cover its dot
/// (Bieniusa et al., "An optimized conflict-free replicated set", 2012). It needs no notes about removed versions,
/// so it also removes those that the original's merges over a third copy restore.
/// - Complexity: O(*n* + *m*) time in the entries; memory only for the changes.
struct Join {
  /// An added version of the source, or a removed one of the receiver.
  struct Row {
    var number: Int64
    var key: ScopedKey
    var dot: Dot
  }

  private(set) var arrivals: [Row] = []
  private(set) var removals: [Row] = []

  var isEmpty: Bool { arrivals.isEmpty && removals.isEmpty }
  var keys: Set<ScopedKey> { Set(arrivals.map(\.key)).union(removals.map(\.key)) }
  init() {}

  /// Walks both tables once in the order of their primary keys.
  /// - Throws: ``KeyValueCRDTError/authorTableInconsistency`` if an entry's own vector does not cover it.
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
        if sourceVector.covers(mine.dot) { removals.append(mine.row) }
        try mine.advance()
      }
      if order >= 0 {
        if !receiverVector.covers(theirs.dot) { arrivals.append(theirs.row) }
        try theirs.advance()
      }
    }
  }

  /// Negative if the first is at the smaller primary key.
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

  private struct Walk {
    private let statement: Statement
    private let vector: VersionVector
    /// True if the file's texts are UTF-8 and need no conversion.
    private let isPlain: Bool
    /// The author of the last row, and the author's last known number.
    private var known = Dot(author: UUID(), usn: 0)
    private(set) var isAtRow = false
    private(set) var dot = Dot(author: UUID(), usn: 0)

    init(_ connection: Connection, _ vector: VersionVector) throws {
      self.vector = vector
      isPlain = try connection.sqlite.integer("SELECT encoding = 'UTF-8' FROM pragma_encoding") == 1
      // Not cached, because a database may be merged into itself, or within a block that reads.
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
      dot = Dot(author: try statement.author(2), usn: statement.integer(3))
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

    var row: Row { Row(number: statement.integer(4), key: statement.scopedKey(0, 1), dot: dot) }
  }
}
