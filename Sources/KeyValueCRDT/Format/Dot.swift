internal import Foundation
internal import SQLite

/// An author's id in the file: 16 bytes, compared as in SQLite.
struct AuthorID: Hashable, Comparable {
  private let high: UInt64
  private let low: UInt64

  init(_ id: UUID) {
    (high, low) = withUnsafeBytes(of: id.uuid) {
      (
        $0.loadUnaligned(as: UInt64.self).bigEndian,
        $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
      )
    }
  }

  /// Throws ``DatabaseError`` with `corrupt` for a column that is no id.
  init(_ statement: Statement, _ column: Int32) throws {
    let bytes = statement.blob(column)
    guard statement.kind(column) == .blob, bytes.count == 16 else {
      throw DatabaseError(.corrupt, "an author's id is not 16 bytes long")
    }
    high = bytes.loadUnaligned(as: UInt64.self).bigEndian
    low = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
  }

  var uuid: UUID {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(bytes: $0) } ?? UUID()
  }

  static func < (left: AuthorID, right: AuthorID) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

/// The name of one write of one key: the author, and the author's number for the write.
struct Dot: Hashable {
  var author: AuthorID
  var usn: Int64
}

/// The number up to which a database knows all writes of each author: a missing version below it was removed.
struct VersionVector: Equatable {
  private(set) var writes: [AuthorID: Int64] = [:]

  init(_ connection: Connection) throws {
    let rows = try connection.sqlite.prepared("SELECT id, usn FROM author")
      .all { (try AuthorID($0, 0), $0.integer(1)) }
    writes = Dictionary(rows) { $1 }
  }

  func covers(_ dot: Dot) -> Bool { (writes[dot.author] ?? 0) >= dot.usn }

  func dominates(_ other: VersionVector) -> Bool {
    other.writes.allSatisfy { author, usn in covers(Dot(author: author, usn: usn)) }
  }
}

extension Statement {
  @discardableResult
  func bind(_ index: Int32, _ id: UUID) -> Statement {
    withUnsafeBytes(of: id.uuid) { bind(index, $0) }
  }

  @discardableResult
  func bind(_ index: Int32, _ id: AuthorID) -> Statement { bind(index, id.uuid) }
}
