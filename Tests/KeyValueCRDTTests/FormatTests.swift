import Foundation
import Testing

@testable import KeyValueCRDT

@Suite("The format", .timeLimit(.minutes(1)))
struct FormatTests {
  @Test(
    "dates of every form are read",
    arguments: [
      ("2023-11-14", 1_699_920_000.0), ("2023-11-14 22:13", 1_699_999_980),
      ("2023-11-14 22:13:20", 1_700_000_000), ("2023-11-14 22:13:20.5", 1_700_000_000.5),
      ("2023-11-14 22:13:20.123", 1_700_000_000.123),
      ("2023-11-14 22:13:20.123456789123", 1_700_000_000.123456789),
      ("2023-11-14T22:13", 1_699_999_980), ("2023-11-14T22:13:20", 1_700_000_000),
      ("2023-11-14T22:13:20.123Z", 1_700_000_000.123), ("2023-11-14 22:13Z", 1_699_999_980),
      ("2023-11-15T00:13:20.000+02:00", 1_700_000_000),
      ("2023-11-14 16:43:20-05:30", 1_700_000_000),
      ("1969-12-31 23:59:59.999", -0.001), ("0001-01-01 00:00:00.000", -62_135_769_600),
      ("9999-12-31 23:59:59.999", 253_402_300_799.999),
      ("1582-10-15 00:00:00.000", -12_219_292_800),
      ("1582-10-04 00:00:00.000", -12_219_379_200),
      ("2000-02-29 12:00:00.000", 951_825_600), ("1900-03-01 00:00:00.000", -2_203_891_200),
    ])
  func dates(_ text: String, _ seconds: Double) throws {
    let folder = try Folder()
    _ = try folder.database("d.kvcrdt")
    try folder.sql(
      "d.kvcrdt",
      """
      INSERT INTO author VALUES (zeroblob(16), 'x', 1, NULL);
      INSERT INTO entry (scope, key, authorId, usn, timestamp, type)
        VALUES ('', 'k', zeroblob(16), 1, '\(text)', 0);
      """)
    let read = try folder.database("d.kvcrdt").read(key: "k").first?.timestamp
    #expect(abs((read?.timeIntervalSince1970 ?? .nan) - seconds) < 1e-5)
  }

  @Test("dates that are numbers are seconds since 1970", arguments: ["1700000000", "1700000000.5"])
  func numbers(_ number: String) throws {
    let folder = try Folder()
    _ = try folder.database("d.kvcrdt")
    try folder.sql(
      "d.kvcrdt",
      """
      INSERT INTO author VALUES (zeroblob(16), 'x', 1, NULL);
      INSERT INTO entry (scope, key, authorId, usn, timestamp, type)
        VALUES ('', 'k', zeroblob(16), 1, \(number), 0);
      """)
    let read = try folder.database("d.kvcrdt").read(key: "k").first?.timestamp
    #expect(read?.timeIntervalSince1970 == Double(number))
  }

  @Test(
    "what is no date is not taken for one",
    arguments: [
      "", "2023", "2023-13-01", "2023-11-14 25:00", "22:13", "2023-11-14 22:13:20 x", "now",
    ])
  func noDates(_ text: String) {
    #expect(Array(text.utf8).withUnsafeBufferPointer { Timestamp.date($0) } == nil)
  }

  @Test("a millisecond that was read is written as the same")
  func milliseconds() throws {
    for count in stride(
      from: Int64(-70_000_000_000_000), to: 253_000_000_000_000, by: 999_999_999_937)
    where count / 1000 > -62_135_769_600 {
      let date = Date(timeIntervalSince1970: Double(count) / 1000)
      let text = try #require(Timestamp.text(date))
      let read = try #require(Array(text.utf8).withUnsafeBufferPointer { Timestamp.date($0) })
      #expect(Timestamp.text(read) == text)
      #expect(abs(read.timeIntervalSince1970 * 1000 - Double(count)) < 0.1, "\(text)")
    }
    #expect(Timestamp.text(.distantPast) == "0001-01-01 00:00:00.000")
    #expect(
      Timestamp.text(Date(timeIntervalSince1970: 1_700_000_000.0009)) == "2023-11-14 22:13:20.000")
    #expect(Timestamp.text(Date(timeIntervalSince1970: 1e15)) == nil)
    #expect(Timestamp.text(Date(timeIntervalSince1970: .nan)) == nil)
  }

  @Test("every day from year 0 to 9999 is written and read as itself, as Foundation has it")
  func days() throws {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyy-MM-dd HH:mm:ss.SSS"
    for day in stride(from: -719_000, to: 2_900_000, by: 1499) {
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let text = try #require(Timestamp.text(date))
      #expect(text == formatter.string(from: date))
      #expect(Array(text.utf8).withUnsafeBufferPointer { Timestamp.date($0) } == date)
    }
  }

  @Test(
    "JSON is what RFC 8259 says",
    arguments: [
      "null", " true ", "false", "0", "-0", "-1.5e+10", "1E9", "\"\"", "[]", "{}", "[[],[]]",
      "{\"a\":[1,{\"b\":null}],\"a\":2}", "\"\\u00e9\\n\\\"\"", "\t[1 ,2 ]\n", "\"é\u{10FFFF}\"",
      "\"\\ud800\"",
    ])
  func validJSON(_ text: String) { #expect(JSONText.isValid(text)) }

  @Test(
    "and nothing else",
    arguments: [
      "", " ", "nul", "nulll", "01", "1.", ".5", "+1", "1e", "--1", "NaN", "Infinity", "'a'",
      "[1,]", "[,1]", "{\"a\":1,}", "{a:1}", "{\"a\"}", "{\"a\" 1}", "[1 2]", "[", "]", "{", "}",
      "[}", "{]", "\"", "\"\n\"", "\"\\x\"", "\"\\u12\"", "1 2", "// c\n1", "\u{FEFF}1", "1\0",
      "[1]]", "\"a\tb\"",
    ])
  func invalidJSON(_ text: String) { #expect(!JSONText.isValid(text)) }

  @Test("JSON may be nested as deep as one likes")
  func deepJSON() {
    let depth = 1_000_000
    let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    #expect(JSONText.isValid(text))
    #expect(!JSONText.isValid(text + "]"))
  }

  /// A file as the first versions of the original made it.
  private func older(_ folder: Folder, steps: Int) throws {
    let names = [
      "initialSchema", "noTombstonePrimarykey", "authorTimestamp", "applicationIdentifier",
    ]
    let timestamp = steps > 2 ? ", \"timestamp\" DATETIME" : ""
    let key =
      steps > 1 ? "" : ", PRIMARY KEY (\"scope\", \"key\", \"deletingAuthorId\", \"deletingUsn\")"
    try folder.sql(
      "old.kvcrdt",
      """
      CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE "author" ("id" TEXT PRIMARY KEY NOT NULL, "name" TEXT NOT NULL, \
      "usn" INTEGER NOT NULL\(timestamp));
      CREATE TABLE "entry" ("scope" TEXT NOT NULL, "key" TEXT NOT NULL, "authorId" TEXT NOT NULL \
      REFERENCES "author"("id") ON DELETE RESTRICT, "usn" INTEGER NOT NULL, \
      "timestamp" DATETIME NOT NULL, "type" INTEGER NOT NULL, "text" TEXT, "json" TEXT, \
      "blobMimeType" TEXT, "blob" BLOB, PRIMARY KEY ("scope", "key", "authorId"));
      CREATE VIRTUAL TABLE "entryFullText" USING \
      fts5(text, tokenize='''porter'' ''unicode61''', content='entry');
      CREATE TRIGGER "__entryFullText_ai" AFTER INSERT ON "entry" BEGIN
          INSERT INTO "entryFullText"("rowid", "text") VALUES (new."rowid", new."text");
      END;
      CREATE TRIGGER "__entryFullText_ad" AFTER DELETE ON "entry" BEGIN
          INSERT INTO "entryFullText"("entryFullText", "rowid", "text") \
      VALUES('delete', old."rowid", old."text");
      END;
      CREATE TRIGGER "__entryFullText_au" AFTER UPDATE ON "entry" BEGIN
          INSERT INTO "entryFullText"("entryFullText", "rowid", "text") \
      VALUES('delete', old."rowid", old."text");
          INSERT INTO "entryFullText"("rowid", "text") VALUES (new."rowid", new."text");
      END;
      CREATE TABLE "tombstone" ("scope" TEXT NOT NULL, "key" TEXT NOT NULL, \
      "authorId" TEXT NOT NULL REFERENCES "author"("id") ON DELETE RESTRICT, \
      "usn" INTEGER NOT NULL, "deletingAuthorId" TEXT NOT NULL REFERENCES "author"("id") \
      ON DELETE RESTRICT, "deletingUsn" INTEGER NOT NULL\(key));
      \(steps > 1 ? "CREATE INDEX \"tombstone_deletingAuthor\" ON \"tombstone\"(\"deletingAuthorId\", \"deletingUsn\");" : "")
      INSERT INTO author (id, name, usn) VALUES (zeroblob(16), 'old', 2);
      INSERT INTO entry (scope, key, authorId, usn, timestamp, type, text)
        VALUES ('', 'k', zeroblob(16), 1, '2021-08-01 00:00:00.000', 1, 'an old text');
      INSERT INTO tombstone VALUES ('', 'k', zeroblob(16), 1, zeroblob(16), 2);
      \(names.prefix(steps).map { "INSERT INTO grdb_migrations VALUES ('\($0)');" }.joined())
      """)
  }

  @Test(
    "older files are read without a change, and get the present schema at the first write",
    arguments: 1...3)
  func olderFiles(_ steps: Int) throws {
    let folder = try Folder()
    try older(folder, steps: steps)
    let before = try folder.bytes("old.kvcrdt")
    let database = try folder.database("old.kvcrdt")
    #expect(try database.read(key: "k").text == "an old text")
    #expect(try database.authors.map(\.name) == ["old"])
    #expect(try database.applicationIdentifier == nil)
    #expect(try database.statistics.tombstoneCount == 1)
    let other = try folder.database("other.kvcrdt")
    #expect(try other.merge(source: database) == ["k"])
    #expect(try folder.bytes("old.kvcrdt") == before)
    try database.writeText("new", to: "k2")
    let query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    #expect(try folder.rows("old.kvcrdt", query) == folder.rows("other.kvcrdt", query))
    #expect(try folder.database("old.kvcrdt").searchText(for: "texts") == ["k"])
    #expect(try database.authors.count == 2)
    #expect(
      try folder.rows("old.kvcrdt", "SELECT COUNT(*) FROM grdb_migrations") == [["4"]])
  }

  @Test("a file of a later schema is refused, and stays as it is")
  func laterSchema() throws {
    let folder = try Folder()
    _ = try folder.database("late.kvcrdt")
    try folder.sql("late.kvcrdt", "INSERT INTO grdb_migrations VALUES ('fromTheFuture')")
    let before = try folder.bytes("late.kvcrdt")
    #expect(throws: KeyValueCRDTError.databaseSchemaTooNew) {
      try folder.database("late.kvcrdt")
    }
    #expect(try folder.bytes("late.kvcrdt") == before)
  }

  @Test("what is no database is refused, and stays as it is")
  func noDatabase() throws {
    let folder = try Folder()
    let bytes = Data(repeating: 65, count: 5000)
    try bytes.write(to: folder.url("text.kvcrdt"))
    #expect(throws: DatabaseError.self) { try folder.database("text.kvcrdt") }
    #expect(try folder.bytes("text.kvcrdt") == Array(bytes))
    #expect(throws: DatabaseError.self) {
      try KeyValueDatabase(
        fileURL: URL(string: "https://example.org/a.kvcrdt"), authorDescription: "x")
    }
  }

  @Test("a file that cannot be written is read")
  func readOnly() throws {
    let folder = try Folder()
    try folder.database("read.kvcrdt").writeText("v", to: "k")
    let pool = try KeyValueDatabase(
      databaseWriter: try DatabaseQueue(path: folder.path("read.kvcrdt")), authorDescription: "x")
    #expect(throws: DatabaseError.self) {
      try pool.read { block in try block.execute(sql: "DELETE FROM entry") }
    }
    #expect(throws: DatabaseError.self) {
      try pool.read { block in try block.rows(sql: "DELETE FROM entry RETURNING key") }
    }
    #expect(try pool.read(key: "k").text == "v")
  }

  @Test("what is wrong in a file is found")
  func verification() throws {
    let folder = try Folder()
    let database = try folder.database("bad.kvcrdt", "me")
    try database.writeText("v", to: "k")
    try database.writeJson("1", to: "j")
    #expect(try database.verify() == [])
    try folder.sql("bad.kvcrdt", "UPDATE entry SET usn = 9 WHERE key = 'k'")
    #expect(try database.verify() == [.unlistedWrite("k", author: database.instanceID)])
    #expect(try !database.statistics.authorTableIsConsistent)
    let other = try folder.database("other.kvcrdt")
    #expect(throws: KeyValueCRDTError.authorTableInconsistency) {
      try other.merge(source: database)
    }
    try database.eraseVersionHistory()
    #expect(try database.verify() == [])
    try folder.sql("bad.kvcrdt", "UPDATE entry SET json = '{', type = 3 WHERE key = 'j'")
    #expect(try database.verify().count == 2)
    try folder.sql(
      "bad.kvcrdt",
      "DELETE FROM entry WHERE key = 'j'; INSERT INTO entryFullText (entryFullText) VALUES ('delete-all')"
    )
    #expect(try database.verify().contains { !$0.description.isEmpty && "\($0)".contains("index") })
  }
}
