internal import Foundation
internal import SQLite
internal import Synchronization

/// Finds the keys whose versions a commit of unknown content changed.
final class KeyWatch: Sendable {
  /// A number for the versions of each key.
  private let known: Mutex<[ScopedKey: Int]>

  /// The connection's gate must be held.
  init(_ connection: Connection) throws { known = Mutex(try Self.versions(connection)) }

  func changed(_ change: Change, _ connection: Connection) throws -> Set<ScopedKey> {
    guard change.isUnknown else {
      let now = try change.keys.map { ($0, try Self.versions(of: $0, connection)) }
      known.withLock { known in
        for (key, number) in now { known[key] = number }
      }
      return change.keys
    }
    let now = try Self.versions(connection)
    return known.withLock { known in
      var changed = change.keys
      for (key, number) in now where known[key] != number { changed.insert(key) }
      for key in known.keys where now[key] == nil { changed.insert(key) }
      known = now
      return changed
    }
  }

  private static func versions(_ connection: Connection) throws -> [ScopedKey: Int] {
    var found: [ScopedKey: Int] = [:]
    try connection.sqlite.all("SELECT scope, key, authorId, usn, timestamp, type FROM entry") {
      found[$0.scopedKey(0, 1), default: 0] ^= number($0, 2)
    }
    return found
  }

  private static func versions(of key: ScopedKey, _ connection: Connection) throws -> Int? {
    let numbers = try connection.sqlite.prepared(
      "SELECT authorId, usn, timestamp, type FROM entry WHERE scope = ? AND key = ?"
    ).bind(1, key.scope).bind(2, key.key).all { number($0, 0) }
    return numbers.isEmpty ? nil : numbers.reduce(0, ^)
  }

  /// Independent of the order of a key's versions.
  private static func number(_ statement: Statement, _ column: Int32) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: statement.blob(column))
    hasher.combine(statement.integer(column + 1))
    hasher.combine(bytes: UnsafeRawBufferPointer(statement.utf8(column + 2)))
    hasher.combine(statement.integer(column + 3))
    return hasher.finalize()
  }
}
