import Documents
import Foundation
import KeyValueCRDT
import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing

@Suite("Files of documents", .timeLimit(.minutes(2)))
struct DocumentFileTests {
  @Test("a document that is imported and exported again has the same rows")
  func roundTrip() throws {
    let place = try DocumentPlace()
    let (a, b) = (try place.database("a.kvcrdt"), try place.database("b.kvcrdt"))
    _ = try a.writeText("text", to: "plain")
    _ = try a.writeText("{}", to: "text that looks like JSON", scope: "sc")
    _ = try a.writeText("x\0y", to: "a/b", scope: "c/d")
    _ = try a.writeJson("{\"a\":1}", to: "settings", scope: "sc")
    _ = try a.writeBlob(Data([1, 2, 255]), to: "bytes", mimeType: "image/png")
    _ = try a.writeBlob(Data("page".utf8), to: "page", mimeType: "text/html")
    _ = try a.delete(key: "gone", scope: "sc")
    _ = try b.writeText("another", to: "plain")
    _ = try a.merge(source: b)
    try place.retrieve("a.kvcrdt")
    try place.send("new.kvcrdt")
    #expect(try place.rows("new.kvcrdt") == place.rows("a.kvcrdt"))
    #expect(try place.database("new.kvcrdt").verify().isEmpty)
    #expect(try place.send("a.kvcrdt").isEmpty)
  }

  @Test("what is written here is what an application reads, and the other way round")
  func bothWays() throws {
    let place = try DocumentPlace()
    _ = try place.database("a.kvcrdt").writeText("one", to: "note")
    try place.retrieve("a.kvcrdt")
    try place.write("note", "two")
    try place.write("list/item", "three")
    try place.send("a.kvcrdt")
    let app = try place.database("a.kvcrdt")
    #expect(try app.read(key: "note").map(\.value) == [.text("two")])
    #expect(try app.read(key: "item", scope: "list").map(\.value) == [.text("three")])
    #expect(try app.searchText(for: "three").count == 1)
    _ = try app.delete(key: "note")
    try place.retrieve("a.kvcrdt")
    let head = try #require(try place.head.flatMap { try place.store.version($0) })
    #expect(try place.store.map(of: head).entry(at: Key("notes/note")) == nil)
    try place.write("list/item", nil)
    try place.send("a.kvcrdt")
    #expect(try place.database("a.kvcrdt").keys.isEmpty)
  }

  @Test("what is written again without a change is not touched")
  func untouched() throws {
    let place = try DocumentPlace()
    try place.write("note", "one")
    try place.send("a.kvcrdt")
    let before = try FileSystem.read(place.path("a.kvcrdt"), atMost: 1 << 20)
    #expect(try place.send("a.kvcrdt").isEmpty)
    #expect(try FileSystem.read(place.path("a.kvcrdt"), atMost: 1 << 20) == before)
  }

  @Test("a document that a program has open is written in place")
  func open() throws {
    let place = try DocumentPlace()
    let app = try place.database("a.kvcrdt")
    _ = try app.writeText("one", to: "note")
    let inode = try FileSystem.status(place.path("a.kvcrdt")).inode
    try place.retrieve("a.kvcrdt")
    try place.write("note", "two")
    try place.send("a.kvcrdt")
    #expect(try FileSystem.status(place.path("a.kvcrdt")).inode == inode)
    #expect(try app.read(key: "note").map(\.value) == [.text("two")])
    _ = try app.writeText("three", to: "note")
    try place.retrieve("a.kvcrdt")
    try place.send("a.kvcrdt")
    #expect(try app.read(key: "note").map(\.value) == [.text("three")])
  }

  @Test(
    "a file that is no sound document is refused, and stays as it is",
    arguments: [
      "CREATE TABLE more (a)", "CREATE VIEW more AS SELECT 1",
      "CREATE TRIGGER more AFTER INSERT ON entry BEGIN DELETE FROM author; END",
      "DROP TRIGGER __entryFullText_ai", "ALTER TABLE entry ADD COLUMN more",
      "INSERT INTO grdb_migrations VALUES ('tomorrow')", "UPDATE author SET usn = 0",
      "UPDATE entry SET authorId = 'x'", "UPDATE entry SET timestamp = 'soon'",
      "UPDATE entry SET key = CAST(x'ff' AS TEXT)", "UPDATE entry SET usn = -1",
    ])
  func refused(change: String) throws {
    let place = try DocumentPlace()
    _ = try place.database("a.kvcrdt").writeText("one", to: "note")
    do {
      let database = try SQLite.Database(
        path: place.path("a.kvcrdt"), mode: .readWrite, options: .document(patience: 1000))
      try database.execute(change)
    }
    let before = try FileSystem.read(place.path("a.kvcrdt"), atMost: 1 << 20)
    #expect { try place.retrieve("a.kvcrdt") } throws: { error in
      if case DocumentProblem.unreadable? = error as? DocumentProblem { return true }
      if case StoreError.malformed? = error as? StoreError { return true }
      return false
    }
    #expect(try FileSystem.read(place.path("a.kvcrdt"), atMost: 1 << 20) == before)
  }

  @Test("rows that were cut out of a document are missed, and nothing is written")
  func cut() throws {
    let place = try DocumentPlace()
    try place.write("note", "one")
    try place.send("a.kvcrdt")
    do {
      let database = try SQLite.Database(
        path: place.path("a.kvcrdt"), mode: .readWrite, options: .document(patience: 1000))
      try database.execute("DELETE FROM entry")
    }
    #expect(throws: StoreError.self) { try place.send("a.kvcrdt") }
  }

  @Test("a document of other data is refused until it is taken knowingly")
  func unrelated() throws {
    let place = try DocumentPlace()
    try place.write("note", "one")
    _ = try place.database("a.kvcrdt").writeText("two", to: "note")
    #expect { try place.retrieve("a.kvcrdt") } throws: { error in
      if case StoreError.unrelated? = error as? StoreError { true } else { false }
    }
  }

  @Test("a document that changes between reading and writing is not overwritten")
  func raced() throws {
    let place = try DocumentPlace()
    _ = try place.database("a.kvcrdt").writeText("one", to: "note")
    try place.retrieve("a.kvcrdt")
    try place.write("note", "two")
    let head = try #require(place.head)
    let file = try #require(try DocumentFile.open(place.path("a.kvcrdt")))
    let comparison = try DocumentComparison(
      try file.snapshot(), place.values, with: head, in: place.store)
    let export = try DocumentExport(comparison, at: head, in: place.store)
    let path = place.path("a.kvcrdt")
    try FileSystem.replace(path, with: try FileSystem.read(path, atMost: 1 << 20))
    let outcome = try DocumentWriter(path, place.store, authorName: "here").write(
      export, expecting: file.stamp)
    #expect(outcome == .changed)
  }

  @Test(
    "copies that services put beside a document are known by their names",
    arguments: [
      ("notes (1).kvcrdt", true), ("notes (Ann's conflicted copy 2026-11-24).kvcrdt", true),
      ("notes (conflicted copy 2026-11-24 101010).kvcrdt", true),
      ("notes.sync-conflict-20261124-101010-ABCDEFG.kvcrdt", true), ("notes.kvcrdt", false),
      ("notes2.kvcrdt", false), ("notes (final).kvcrdt", false), ("other (1).kvcrdt", false),
    ])
  func copies(name: String, isCopy: Bool) {
    #expect(ConflictCopies.isCopy(name, of: "notes.kvcrdt") == isCopy)
  }
}
