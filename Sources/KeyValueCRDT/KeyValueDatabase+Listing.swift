internal import Foundation
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// All keys with a value, each once, in the order of their bytes.
  /// - Throws: ``DatabaseError``.
  public var keys: [ScopedKey] {
    get throws { try keys() }
  }

  /// Returns the keys with a value, in the order of their bytes: of all scopes or one, of all names or one.
  /// - Complexity: O(*n*) in the entries; with a scope, in those of the scope.
  /// - Throws: ``DatabaseError``.
  public func keys(scope: String? = nil, key: String? = nil) throws -> [ScopedKey] {
    try writer.read { (connection: Connection) in
      let statement = try Self.entries(
        "DISTINCT scope, key", of: "type <> 0", scope, key, connection, "ORDER BY scope, key")
      defer { statement.close() }
      return try Self.keys(statement)
    }
  }

  /// The scopes in which a key has a value, each once, in the order of their bytes.
  /// - Throws: ``DatabaseError``.
  public var scopes: [String] {
    get throws {
      try writer.read { (connection: Connection) in
        try connection.sqlite.prepared(
          "SELECT DISTINCT scope FROM entry WHERE type <> 0 ORDER BY scope"
        ).all { $0.string(0) }
      }
    }
  }

  /// The keys with several versions, and those versions.
  /// - Throws: ``DatabaseError``.
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

  /// All authors that the database knows, in the order of their ids.
  /// - Throws: ``DatabaseError``.
  public var authors: [Author] {
    get throws {
      try writer.read { (connection: Connection) in
        let statement = try Self.authorRows(connection, writer)
        defer { statement.close() }
        return try statement.all {
          Author(
            id: try $0.author(0), name: $0.string(1), lastWrite: Int($0.integer(2)),
            timestamp: $0.date(3))
        }
      }
    }
  }

  /// - Throws: ``DatabaseError``.
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

  /// The condition of ``Statistics/authorTableIsConsistent``.
  static func hasConsistentAuthors(_ connection: Connection) throws -> Bool {
    try connection.sqlite.integer(
      """
      SELECT 1 FROM entry LEFT JOIN author ON author.id = entry.authorId
      WHERE author.usn IS NULL OR entry.usn > author.usn LIMIT 1
      """) == nil
  }

  /// Returns the keys whose text has all words of a search, each once; none without a word.
  /// All versions of text are searched. Case and accents do not matter, and "running" finds "runs".
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

  /// The rows of id, name, usn and timestamp; an older file has no times.
  static func authorRows(_ connection: Connection, _ writer: DatabaseWriter) throws -> Statement {
    var time = "timestamp"
    if case .older(hasTimestamps: false, _) = writer.schema.withLock({ $0 }) { time = "NULL" }
    return try connection.sqlite.statement("SELECT id, name, usn, \(time) FROM author ORDER BY id")
  }

  /// A query for columns of entries, of all scopes or one, and of all names or one.
  static func entries(
    _ columns: String, of condition: String = "TRUE", _ scope: String?, _ key: String?,
    _ connection: Connection, _ order: String = ""
  ) throws -> Statement {
    let conditions =
      [condition] + (scope == nil ? [] : ["scope = ?1"]) + (key == nil ? [] : ["key = ?2"])
    let statement = try connection.sqlite.statement(
      "SELECT \(columns) FROM entry WHERE \(conditions.joined(separator: " AND ")) \(order)")
    if scope != nil { statement.bind(1, scope) }
    if key != nil { statement.bind(2, key) }
    return statement
  }

  private static func keys(_ statement: Statement) throws -> [ScopedKey] {
    try statement.all { $0.scopedKey(0, 1) }
  }
}
