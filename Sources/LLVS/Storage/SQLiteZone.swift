internal import Foundation

/// Bytes in the table `Zone(key, version, data)` of an SQLite file.
final class SQLiteZone: Zone {
  private let database: SQLiteDatabase

  init(in directory: URL) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    database = try SQLiteDatabase(fileURL: directory.appendingPathComponent("zone.sqlite"))
    try database.execute(
      statement: """
        CREATE TABLE IF NOT EXISTS Zone(key TEXT NOT NULL, version TEXT NOT NULL,
          data BLOB NOT NULL, PRIMARY KEY (key, version))
        """)
    try database.execute(statement: "CREATE INDEX IF NOT EXISTS index_key ON Zone(key)")
    try database.execute(statement: "CREATE INDEX IF NOT EXISTS index_version ON Zone(version)")
  }

  func store(_ data: Data, for reference: ZoneReference) throws {
    try store([data], for: [reference])
  }

  func store(_ data: [Data], for references: [ZoneReference]) throws {
    guard !data.isEmpty else { return }
    // The original's rows are read as texts that end with a NUL.
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
    if let found, found.starts(with: Data("LLZFbvx".utf8)) {
      throw Store.Error.fromTheFuture(
        "the value of \(reference.key) is compressed with LZFSE, which cannot be read here; "
          + "let the program that wrote the store send it through an exchange")
    }
    return found
  }
}
