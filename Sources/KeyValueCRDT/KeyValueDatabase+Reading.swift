internal import Foundation
internal import SQLite

extension KeyValueDatabase {
  /// Returns the versions of a key, oldest first, and at one time by author.
  /// A key that was never written has none. A deleted key has one, ``Value/null``.
  /// - Throws: ``DatabaseError``.
  public func read(key: String, scope: String = "") throws -> [Version] {
    try writer.read { (connection: Connection) in
      try Self.versions(of: ScopedKey(scope: scope, key: key), on: connection)
    }
  }

  /// Returns the versions of all keys, of one scope, of one name or of both; deleted keys included.
  /// - Complexity: O(*n*) in the entries; with a scope, in those of the scope.
  /// - Throws: ``DatabaseError``.
  public func bulkRead(scope: String? = nil, key: String? = nil) throws -> [ScopedKey: [Version]] {
    try writer.read { (connection: Connection) in
      try Self.bulkRead(on: connection, scope: scope, key: key)
    }
  }

  /// - Throws: ``DatabaseError``, with `misuse` outside of a block of this database.
  public func bulkRead(
    database: Database, scope: String? = nil, key: String? = nil
  ) throws -> [ScopedKey: [Version]] {
    let connection = try database.connection(of: writer, toWrite: false)
    return try DatabaseError.wrapping {
      try Self.bulkRead(on: connection, scope: scope, key: key)
    }
  }

  /// Returns the versions of some keys in all scopes.
  /// - Complexity: O(*n*) in the entries.
  /// - Throws: ``DatabaseError``.
  public func bulkRead(keys: [String]) throws -> [ScopedKey: [Version]] {
    let wanted = Set(keys.map { Array($0.utf8) })
    return try writer.read { (connection: Connection) in
      try Self.gather(
        connection, whole: "SELECT scope, key FROM entry ORDER BY scope, key"
      ) { wanted.contains(Array($0.utf8(1))) }
    }
  }

  /// Returns the versions of all keys with a prefix, in all scopes; it is compared byte by byte.
  /// - Complexity: O(*n*) in the entries.
  /// - Throws: ``DatabaseError``.
  public func bulkReadAllScopes(keyPrefix: String) throws -> [ScopedKey: [Version]] {
    try writer.read { (connection: Connection) in
      try Self.bulkRead(on: connection, keyPrefix: keyPrefix)
    }
  }

  /// Returns the versions of all keys for which a function of scope and key returns true.
  /// - Complexity: O(*n*) in the entries; values of other keys are not read.
  /// - Throws: ``DatabaseError``.
  public func bulkRead(isIncluded: (String, String) -> Bool) throws -> [ScopedKey: [Version]] {
    try writer.read { (connection: Connection) in
      try Self.bulkRead(on: connection, isIncluded: isIncluded)
    }
  }

  /// - Throws: ``DatabaseError``, with `misuse` outside of a block of this database.
  public func bulkRead(
    database: Database, isIncluded: (String, String) -> Bool
  ) throws -> [ScopedKey: [Version]] {
    let connection = try database.connection(of: writer, toWrite: false)
    return try DatabaseError.wrapping {
      try Self.bulkRead(on: connection, isIncluded: isIncluded)
    }
  }

  private static let versionColumns =
    "authorId, timestamp, text, json, blobMimeType, blob, scope, key"

  static func versions(of key: ScopedKey, on connection: Connection) throws -> [Version] {
    let versions = try connection.sqlite.prepared(
      """
      SELECT authorId, timestamp, text, json, blobMimeType, blob
      FROM entry WHERE scope = ? AND key = ?
      """
    ).bind(1, key.scope).bind(2, key.key).all { try $0.version(from: 0, of: key) }
    return versions.count < 2 ? versions : versions.sorted(by: Version.precedes)
  }

  static func bulkRead(
    on connection: Connection, scope: String?, key: String?
  ) throws -> [ScopedKey: [Version]] {
    let statement = try entries(versionColumns, scope, key, connection)
    defer { statement.close() }
    return try gather(statement)
  }

  static func bulkRead(
    on connection: Connection, keyPrefix: String
  ) throws -> [ScopedKey: [Version]] {
    // Bytes are compared because LIKE would fold case and treat % and _ as wildcards.
    let statement = try connection.sqlite.prepared(
      """
      SELECT authorId, timestamp, text, json, blobMimeType, blob, scope, key FROM entry
      WHERE substr(CAST(key AS BLOB), 1, ?1) = CAST(?2 AS BLOB)
      """
    ).bind(1, Int64(keyPrefix.utf8.count)).bind(2, keyPrefix)
    return try gather(statement)
  }

  private static func bulkRead(
    on connection: Connection, isIncluded: (String, String) -> Bool
  ) throws -> [ScopedKey: [Version]] {
    try gather(connection, whole: "SELECT scope, key FROM entry ORDER BY scope, key") {
      isIncluded($0.string(0), $0.string(1))
    }
  }

  /// Calls the function once for each key. The statement is not cached, because the function may read the database.
  private static func gather(
    _ connection: Connection, whole sql: String, isIncluded: (Statement) throws -> Bool
  ) throws -> [ScopedKey: [Version]] {
    var found: [ScopedKey: [Version]] = [:]
    var last: ScopedKey?
    try connection.sqlite.all(sql) { statement in
      let key = statement.scopedKey(0, 1)
      guard key != last else { return }
      last = key
      if try isIncluded(statement) { found[key] = try versions(of: key, on: connection) }
    }
    return found
  }

  private static func gather(_ statement: Statement) throws -> [ScopedKey: [Version]] {
    var found: [ScopedKey: [Version]] = [:]
    var several: Set<ScopedKey> = []
    try statement.all { statement in
      let key = statement.scopedKey(6, 7)
      let version = try statement.version(from: 0, of: key)
      if found[key]?.append(version) == nil {
        found[key] = [version]
      } else {
        several.insert(key)
      }
    }
    for key in several { found[key]?.sort(by: Version.precedes) }
    return found
  }
}
