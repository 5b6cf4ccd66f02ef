internal import Foundation
internal import SQLite

/// The name of one write of one key: the author, and the author's number for the write.
struct Dot: Hashable {
  var author: UUID
  var usn: Int64
}

/// The number up to which a database knows all writes of each author: a missing version below it was removed.
struct VersionVector: Equatable {
  private(set) var writes: [UUID: Int64] = [:]

  init(_ connection: Connection) throws {
    let rows = try connection.sqlite.prepared("SELECT id, usn FROM author")
      .all { (try $0.author(0), $0.integer(1)) }
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

  /// Returns an author's id; throws ``DatabaseError`` with `corrupt` for a column that is none.
  func author(_ column: Int32) throws -> UUID {
    guard kind(column) == .blob, let id = UUID(bytes: blob(column)) else {
      throw DatabaseError(.corrupt, "an author's id is not 16 bytes long")
    }
    return id
  }
}
