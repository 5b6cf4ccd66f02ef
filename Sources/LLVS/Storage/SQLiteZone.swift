internal import Foundation

/// Bytes in the table `Zone(key, version, data)` of an SQLite file.
final class SQLiteZone: Zone {
  static let fileName = "zone.sqlite"
  private let database: SQLiteDatabase

  init(in directory: URL) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    database = try SQLiteDatabase(
      fileURL: directory.appendingPathComponent(Self.fileName), isTrusted: false)
    try Self.checkTable(of: database, named: directory.path)
    try database.execute(
      statement: """
        CREATE TABLE IF NOT EXISTS Zone(key TEXT NOT NULL, version TEXT NOT NULL,
          data BLOB NOT NULL, PRIMARY KEY (key, version))
        """)
    try database.execute(statement: "CREATE INDEX IF NOT EXISTS index_key ON Zone(key)")
    try database.execute(statement: "CREATE INDEX IF NOT EXISTS index_version ON Zone(version)")
  }

  /// Checks the pages of a file of another program, and that its zone is a plain table.
  static func check(_ file: URL, named name: String) throws {
    do {
      let database = try SQLiteDatabase(fileURL: file, isTrusted: false)
      try checkTable(of: database, named: name)
      var faults: [String] = []
      try database.forEach(matchingQuery: "PRAGMA quick_check(1)") { row in
        faults.append(row.value(inColumnAtIndex: 0) ?? "")
      }
      guard faults == ["ok"] else {
        throw Store.Error.corrupt("\(name) is damaged: \(faults.joined(separator: ", "))")
      }
    } catch let error as SQLiteDatabase.Error {
      throw Store.Error.corrupt("\(name) cannot be read: \(error)")
    }
  }

  /// Refuses a view, a virtual table and a generated column, because reading one may never end.
  private static func checkTable(of database: SQLiteDatabase, named name: String) throws {
    var isPlain = true
    for query in [
      "SELECT type = 'table' AND rootpage > 0 FROM sqlite_schema WHERE lower(name) = 'zone'",
      "SELECT hidden = 0 FROM pragma_table_xinfo('Zone')",
    ] where isPlain {
      try database.forEach(matchingQuery: query) { row in
        let answer: Int64? = row.value(inColumnAtIndex: 0)
        isPlain = isPlain && answer == 1
      }
    }
    guard isPlain else { throw Store.Error.corrupt("the zone in \(name) is no plain table") }
  }

  func store(_ data: Data, for reference: ZoneReference) throws {
    try store([data], for: [reference])
  }

  func store(_ data: [Data], for references: [ZoneReference]) throws {
    guard !data.isEmpty else { return }
    // The original reads its rows as texts that end with a NUL.
    for reference in references where reference.key.utf8.contains(0) {
      throw Store.Error.invalid("a key with a NUL cannot be kept in the original's format")
    }
    try database.inTransaction {
      try database.execute(
        statement: "INSERT OR REPLACE INTO Zone (key, version, data) VALUES (?, ?, ?)",
        withBindingsList: zip(data, references).map { data, reference in
          [reference.key, reference.version.rawValue, data]
        })
    }
  }

  func data(for reference: ZoneReference) throws -> Data? {
    var found: Data?
    try database.forEach(
      matchingQuery: "SELECT data FROM Zone WHERE key = ? AND version = ?",
      withBindings: [reference.key, reference.version.rawValue]
    ) { row in
      found = row.value(inColumnAtIndex: 0) ?? Data()
    }
    if let found { try StoreFile.refuseCompressed(found, in: "the value of \(reference.key)") }
    return found
  }
}
