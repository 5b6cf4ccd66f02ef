internal import Foundation
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// All keys that have a value, each once, in the order of their bytes.
  public var keys: [ScopedKey] {
    get throws { try keys() }
  }

  /// Returns the keys that have a value, each once, in the order of their bytes: all, those in one scope,
  /// or those of one name in whatever scopes they are.
  ///
  /// - Throws: ``DatabaseError``.
  /// - Complexity: O(*n*) in the entries; with a scope, in those of the scope.
  public func keys(scope: String? = nil, key: String? = nil) throws -> [ScopedKey] {
    try writer.read { (connection: Connection) in
      let sqlite = connection.sqlite
      let statement: Statement =
        switch (scope, key) {
        case (nil, nil):
          try sqlite.prepared(
            "SELECT DISTINCT scope, key FROM entry WHERE type <> 0 ORDER BY scope, key")
        case (let scope?, nil):
          try sqlite.prepared(
            """
            SELECT DISTINCT scope, key FROM entry WHERE type <> 0 AND scope = ?
            ORDER BY scope, key
            """
          ).bind(1, scope)
        case (nil, let key?):
          try sqlite.prepared(
            """
            SELECT DISTINCT scope, key FROM entry WHERE type <> 0 AND key = ?
            ORDER BY scope, key
            """
          ).bind(1, key)
        case (let scope?, let key?):
          try sqlite.prepared(
            """
            SELECT DISTINCT scope, key FROM entry WHERE type <> 0 AND scope = ? AND key = ?
            """
          ).bind(1, scope).bind(2, key)
        }
      return try Self.keys(statement)
    }
  }

  /// The scopes in which a key has a value, each once, in the order of their bytes.
  public var scopes: [String] {
    get throws {
      try writer.read { (connection: Connection) in
        let statement = try connection.sqlite.prepared(
          "SELECT DISTINCT scope FROM entry WHERE type <> 0 ORDER BY scope")
        defer { statement.reset() }
        var scopes: [String] = []
        while try statement.step() { scopes.append(statement.string(0)) }
        return scopes
      }
    }
  }

  /// The keys that have several versions, and those versions.
  public var conflicts: [ScopedKey: [Version]] {
    get throws {
      try writer.read { (connection: Connection) in
        let statement = try connection.sqlite.prepared(
          "SELECT scope, key FROM entry GROUP BY scope, key HAVING COUNT(*) > 1")
        var found: [ScopedKey: [Version]] = [:]
        for key in try Self.keys(statement) {
          found[key] = try Self.versions(of: key, on: connection)
        }
        return found
      }
    }
  }

  /// All authors that the database knows of, in the order of their ids.
  public var authors: [Author] {
    get throws {
      try writer.read { (connection: Connection) in
        let hasTimestamps =
          switch writer.schema.withLock({ $0 }) {
          case .current: true
          case .older(let hasTimestamps, _): hasTimestamps
          }
        let statement =
          try hasTimestamps
          ? connection.sqlite.prepared("SELECT id, name, usn, timestamp FROM author ORDER BY id")
          : connection.sqlite.prepared("SELECT id, name, usn, NULL FROM author ORDER BY id")
        defer { statement.reset() }
        var authors: [Author] = []
        while try statement.step() {
          authors.append(
            Author(
              id: try AuthorID(statement, 0).uuid, name: statement.string(1),
              lastWrite: Int(statement.integer(2)), timestamp: statement.date(3)))
        }
        return authors
      }
    }
  }

  /// The size of the database's contents.
  public var statistics: Statistics {
    get throws {
      try writer.read { (connection: Connection) in
        let sqlite = connection.sqlite
        return Statistics(
          entryCount: Int(try sqlite.integer("SELECT COUNT(*) FROM entry") ?? 0),
          authorCount: Int(try sqlite.integer("SELECT COUNT(*) FROM author") ?? 0),
          tombstoneCount: Int(try sqlite.integer("SELECT COUNT(*) FROM tombstone") ?? 0),
          authorTableIsConsistent: try Self.hasConsistentAuthors(connection))
      }
    }
  }

  /// True if each entry is of a listed author, and none newer than the list says.
  static func hasConsistentAuthors(_ connection: Connection) throws -> Bool {
    try connection.sqlite.integer(
      """
      SELECT 1 FROM entry LEFT JOIN author ON author.id = entry.authorId
      WHERE author.usn IS NULL OR entry.usn > author.usn LIMIT 1
      """) == nil
  }

  /// Returns the keys whose text has all of some words, each once.
  ///
  /// Only text is searched, each version of it. Case and accents do not matter, and English words are found
  /// in their other forms, "running" with "runs".
  ///
  /// - Returns: nothing where the search has no word in it.
  /// - Throws: ``DatabaseError``.
  public func searchText(for searchTerm: String) throws -> [ScopedKey] {
    guard let query = TextIndex.query(searchTerm) else { return [] }
    return try writer.read { (connection: Connection) in
      let statement = try connection.sqlite.prepared(
        """
        SELECT entry.scope, entry.key FROM entryFullText
        CROSS JOIN entry ON entry.rowid = entryFullText.rowid
        WHERE entryFullText MATCH ?
        """
      ).bind(1, query)
      var seen: Set<ScopedKey> = []
      return try Self.keys(statement).filter { seen.insert($0).inserted }
    }
  }

  private static func keys(_ statement: Statement) throws -> [ScopedKey] {
    defer { statement.reset() }
    var keys: [ScopedKey] = []
    while try statement.step() { keys.append(statement.scopedKey(0, 1)) }
    return keys
  }
}
