import Foundation
import KeyValueCRDT
import Platform
import SQLite

/// Values such as notes have.
enum DocumentSample {
  static func values(
    _ count: Int, generation: Int = 0, from start: Int = 0
  ) -> [ScopedKey: KeyValueCRDT.Value] {
    var random = BenchRandom(UInt64(generation))
    return Dictionary(
      uniqueKeysWithValues: (start..<start + count).map { number in
        let words = "common text number \(number) of generation \(generation) "
        let rest = (0..<6).map { _ in "word\(random.next() % 5000)" }.joined(separator: " ")
        return (ScopedKey(scope: "note \(number / 4)", key: "key \(number)"), .text(words + rest))
      })
  }

  /// Writes values as files: a directory for each scope.
  static func write(
    _ values: [ScopedKey: KeyValueCRDT.Value], asFilesBelow place: String
  ) throws {
    try FileSystem.makeDirectory(place)
    for scope in Set(values.keys.map(\.scope)) { try FileSystem.makeDirectory("\(place)/\(scope)") }
    for (key, value) in values {
      try File("\(place)/\(key.scope)/\(key.key)", [.readWrite, .create])
        .write(Array((value.text ?? "").utf8), at: 0)
    }
  }

  static func open(_ path: String) throws -> KeyValueDatabase {
    try KeyValueDatabase(fileURL: URL(fileURLWithPath: path), authorDescription: "bench")
  }
}

/// The tables of a document, written and read by nothing but SQL: the least that a library over SQLite may
/// take.
final class PlainDocument {
  let database: SQLite.Database
  private static let author = [UInt8](repeating: 7, count: 16)

  init(_ path: String) throws {
    database = try SQLite.Database(path: path, mode: .create, options: .document(patience: 1000))
    guard try database.integer("SELECT 1 FROM sqlite_master WHERE name = 'entry'") == nil else {
      return
    }
    // The tables are those of a document, however they come to be.
    let model = try KeyValueDatabase(fileURL: nil, authorDescription: "model")
    let tables = try model.read { block in
      try block.rows(
        sql: """
          SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'entryFullText_%'
          ORDER BY rowid
          """
      ).compactMap { $0[0].text }
    }
    for table in tables { try database.execute(table) }
    try database.prepared("INSERT INTO author (id, name, usn) VALUES (?, 'plain', 1)")
      .bind(1, Self.author).run()
  }

  func write(_ values: [ScopedKey: KeyValueCRDT.Value]) throws {
    try database.prepared("BEGIN IMMEDIATE").run()
    for (key, value) in values.count > 1 ? values.sorted(by: { $0.key < $1.key }) : Array(values) {
      try database.prepared(
        """
        INSERT INTO entry (scope, key, authorId, usn, timestamp, type, text)
        VALUES (?, ?, ?, 1, '2024-01-01 00:00:00.000', 1, ?)
        ON CONFLICT (scope, key, authorId) DO UPDATE SET text = excluded.text
        """
      ).bind(1, key.scope).bind(2, key.key).bind(3, Self.author).bind(4, value.text ?? "").run()
    }
    try database.prepared("COMMIT").run()
  }

  func read(_ key: ScopedKey) throws -> String? {
    let statement = try database.prepared("SELECT text FROM entry WHERE scope = ? AND key = ?")
      .bind(1, key.scope).bind(2, key.key)
    defer { statement.reset() }
    return try statement.step() ? statement.text(0) : nil
  }

  /// Reads every row into strings, and returns their number.
  func readAll() throws -> Int {
    let statement = try database.prepared(
      "SELECT scope, key, authorId, timestamp, text FROM entry")
    defer { statement.reset() }
    var rows: [(String, String, [UInt8], String, String)] = []
    while try statement.step() {
      rows.append(
        (
          statement.text(0), statement.text(1), statement.bytes(2), statement.text(3),
          statement.text(4)
        ))
    }
    return rows.count
  }

  /// Reads who wrote each version of each key, and returns their number.
  func dots() throws -> Int {
    let statement = try database.prepared(
      "SELECT scope, key, authorId, usn FROM entry ORDER BY scope, key, authorId")
    defer { statement.reset() }
    var rows: [([UInt8], [UInt8], [UInt8], Int64)] = []
    while try statement.step() {
      rows.append(
        (statement.bytes(0), statement.bytes(1), statement.bytes(2), statement.integer(3)))
    }
    return rows.count
  }

  func keys() throws -> [(String, String)] {
    try pairs(
      try database.prepared(
        "SELECT DISTINCT scope, key FROM entry WHERE type <> 0 ORDER BY scope, key"))
  }

  func search(_ query: String) throws -> [(String, String)] {
    let bytes = try database.prepared(
      """
      SELECT entry.scope, entry.key FROM entry
      JOIN entryFullText ON entryFullText.rowid = entry.rowid AND entryFullText MATCH ?
      """
    ).bind(1, query)
    return try pairs(bytes)
  }

  private func pairs(_ statement: Statement) throws -> [(String, String)] {
    defer { statement.reset() }
    var found: [(String, String)] = []
    while try statement.step() { found.append((statement.text(0), statement.text(1))) }
    return found
  }

  /// Takes the entries of another file that this one has not, and deletes those that the other has removed.
  func merge(_ path: String) throws {
    try database.execute("ATTACH '\(path)' AS other")
    try database.execute(
      """
      BEGIN IMMEDIATE;
      CREATE TEMP TABLE mine AS SELECT id, usn FROM main.author;
      INSERT INTO main.author SELECT * FROM other.author WHERE true
        ON CONFLICT (id) DO UPDATE SET usn = max(usn, excluded.usn);
      DELETE FROM main.entry WHERE rowid IN (
        SELECT e.rowid FROM main.entry e JOIN other.author a ON a.id = e.authorId AND a.usn >= e.usn
        WHERE NOT EXISTS (SELECT 1 FROM other.entry o WHERE o.scope = e.scope AND o.key = e.key
          AND o.authorId = e.authorId AND o.usn = e.usn));
      INSERT INTO main.entry SELECT o.* FROM other.entry o
        LEFT JOIN temp.mine m ON m.id = o.authorId WHERE m.usn IS NULL OR m.usn < o.usn;
      COMMIT;
      """)
  }
}
