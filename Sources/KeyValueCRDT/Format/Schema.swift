internal import Foundation
package import SQLite

/// The tables of a database file, and the steps that upgrade older files.
///
/// The format is that of KeyValueCRDT 1.3.1: each statement below is the text of `sqlite_master`, and GRDB's table
/// `grdb_migrations` lists the steps of a file.
///
/// INVARIANT K1: a file with every step is opened and read without a change.
/// INVARIANT K2: reading an older file changes no byte; the transaction of the first write makes its steps.
enum Schema {
  case current
  /// Some steps are missing; their columns must not be read.
  case older(hasTimestamps: Bool, hasApplication: Bool)

  var isOlder: Bool { if case .older = self { true } else { false } }

  private static let initial = "initialSchema"
  private static let tombstones = "noTombstonePrimarykey"
  private static let timestamps = "authorTimestamp"
  private static let application = "applicationIdentifier"
  private static let steps = [initial, tombstones, timestamps, application]

  /// Reads the steps of a file, and makes all tables if there are none.
  static func prepare(_ connection: Connection, makesTables: Bool = true) throws -> Schema {
    let sqlite = connection.sqlite
    var made = try connection.read { try stepsMade(sqlite) }
    if !made.contains(initial) {
      guard makesTables else {
        throw KeyValueDatabase.DatabaseError(.corrupt, "\(sqlite.path) is no document")
      }
      try connection.write {
        // Another process may have been faster.
        made = try stepsMade(sqlite)
        if !made.contains(initial) { try create(sqlite) }
        made = try stepsMade(sqlite)
      }
    }
    return schema(made)
  }

  private static func schema(_ made: Set<String>) -> Schema {
    guard !steps.allSatisfy({ made.contains($0) }) else { return .current }
    return .older(
      hasTimestamps: made.contains(timestamps), hasApplication: made.contains(application))
  }

  fileprivate static func stepsMade(_ sqlite: SQLite.Database) throws -> Set<String> {
    var made: Set<String> = []
    guard
      try sqlite.integer("SELECT 1 FROM sqlite_master WHERE name = 'grdb_migrations'") != nil
    else { return made }
    try sqlite.rows("SELECT identifier FROM grdb_migrations") { made.insert($0.string(0)) }
    guard made.isSubset(of: steps) else { throw KeyValueCRDTError.databaseSchemaTooNew }
    return made
  }

  static func migrate(_ sqlite: SQLite.Database) throws {
    let made = try stepsMade(sqlite)
    if !made.contains(tombstones) {
      try sqlite.execute(
        """
        \(tombstoneTable(named: "tombstone_v2"));
        INSERT INTO tombstone_v2 SELECT * FROM tombstone;
        DROP TABLE tombstone;
        ALTER TABLE tombstone_v2 RENAME TO tombstone;
        \(tombstoneIndex)
        """)
    }
    if !made.contains(timestamps) {
      try sqlite.execute(#"ALTER TABLE "author" ADD COLUMN "timestamp" DATETIME"#)
    }
    if !made.contains(application) { try sqlite.execute(applicationTable) }
    for step in steps where !made.contains(step) { try note(step, sqlite) }
  }

  private static func note(_ step: String, _ sqlite: SQLite.Database) throws {
    try sqlite.execute("INSERT INTO grdb_migrations (identifier) VALUES ('\(step)')")
  }

  fileprivate static func create(_ sqlite: SQLite.Database) throws {
    for statement in [
      "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)",
      #"CREATE TABLE "author" ("id" TEXT PRIMARY KEY NOT NULL, "name" TEXT NOT NULL, "#
        + #""usn" INTEGER NOT NULL, "timestamp" DATETIME)"#,
      entryTable, fullText, insertion, deletion, update, tombstoneTable(named: "tombstone"),
      tombstoneIndex, applicationTable,
    ] {
      try sqlite.execute(statement)
    }
    for step in steps { try note(step, sqlite) }
  }

  private static let entryTable =
    #"CREATE TABLE "entry" ("scope" TEXT NOT NULL, "key" TEXT NOT NULL, "authorId" TEXT NOT NULL "#
    + #"REFERENCES "author"("id") ON DELETE RESTRICT, "usn" INTEGER NOT NULL, "#
    + #""timestamp" DATETIME NOT NULL, "type" INTEGER NOT NULL, "text" TEXT, "json" TEXT, "#
    + #""blobMimeType" TEXT, "blob" BLOB, PRIMARY KEY ("scope", "key", "authorId"))"#

  private static let fullText =
    #"CREATE VIRTUAL TABLE "entryFullText" USING "#
    + #"fts5(text, tokenize='''porter'' ''unicode61''', content='entry')"#

  static let triggers = [
    "__entryFullText_ad": deletion, "__entryFullText_ai": insertion, "__entryFullText_au": update,
  ]

  private static let insertion =
    """
    CREATE TRIGGER "__entryFullText_ai" AFTER INSERT ON "entry" BEGIN
        INSERT INTO "entryFullText"("rowid", "text") VALUES (new."rowid", new."text");
    END
    """

  private static let deletion =
    """
    CREATE TRIGGER "__entryFullText_ad" AFTER DELETE ON "entry" BEGIN
        INSERT INTO "entryFullText"("entryFullText", "rowid", "text") \
    VALUES('delete', old."rowid", old."text");
    END
    """

  private static let update =
    """
    CREATE TRIGGER "__entryFullText_au" AFTER UPDATE ON "entry" BEGIN
        INSERT INTO "entryFullText"("entryFullText", "rowid", "text") \
    VALUES('delete', old."rowid", old."text");
        INSERT INTO "entryFullText"("rowid", "text") VALUES (new."rowid", new."text");
    END
    """

  private static func tombstoneTable(named name: String) -> String {
    #"CREATE TABLE "\#(name)" ("scope" TEXT NOT NULL, "key" TEXT NOT NULL, "#
      + #""authorId" TEXT NOT NULL REFERENCES "author"("id") ON DELETE RESTRICT, "#
      + #""usn" INTEGER NOT NULL, "deletingAuthorId" TEXT NOT NULL "#
      + #"REFERENCES "author"("id") ON DELETE RESTRICT, "deletingUsn" INTEGER NOT NULL)"#
  }

  private static let tombstoneIndex =
    #"CREATE INDEX "tombstone_deletingAuthor" ON "tombstone"("deletingAuthorId", "deletingUsn")"#

  private static let applicationTable =
    #"CREATE TABLE "applicationIdentifier" ("id" TEXT PRIMARY KEY, "majorVersion" INTEGER NOT NULL, "#
    + #""minorVersion" INTEGER NOT NULL, "applicationDescription" TEXT)"#
}

/// The format for modules that read and write documents themselves.
package enum DocumentFormat {
  package static let tables: Set<String> = [
    "author", "entry", "tombstone", "applicationIdentifier", "grdb_migrations", "entryFullText",
    "entryFullText_data", "entryFullText_idx", "entryFullText_docsize", "entryFullText_config",
    "tombstone_deletingAuthor",
  ]

  package static var triggers: [String: String] { Schema.triggers }

  package static let columns: [String: [String]] = [
    "author": ["id", "name", "usn", "timestamp"],
    "entry": [
      "scope", "key", "authorId", "usn", "timestamp", "type", "text", "json", "blobMimeType",
      "blob",
    ],
    "tombstone": ["scope", "key", "authorId", "usn", "deletingAuthorId", "deletingUsn"],
    "applicationIdentifier": ["id", "majorVersion", "minorVersion", "applicationDescription"],
  ]

  /// Makes the tables that a file lacks, within a transaction.
  package static func complete(_ database: SQLite.Database) throws {
    if try database.integer("SELECT 1 FROM sqlite_master WHERE name = 'grdb_migrations'") == nil {
      try Schema.create(database)
    } else {
      try Schema.migrate(database)
    }
  }

  /// Returns true if a file has a step that this program does not know.
  package static func isTooNew(_ database: SQLite.Database) throws -> Bool {
    do {
      _ = try Schema.stepsMade(database)
      return false
    } catch KeyValueCRDTError.databaseSchemaTooNew {
      return true
    }
  }

  package static func indexing(
    _ count: Int, on database: SQLite.Database, _ body: () throws -> Void
  ) throws {
    try TextIndex.writing(count, on: database, body)
  }

  package static func milliseconds(_ statement: Statement, _ column: Int32) -> Int64? {
    statement.date(column).map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
  }

  package static func text(milliseconds: Int64) -> String? {
    Timestamp.text(Date(timeIntervalSince1970: Double(milliseconds) / 1000))
  }
}
