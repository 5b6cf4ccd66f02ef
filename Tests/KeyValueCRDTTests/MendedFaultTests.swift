import Foundation
import Platform
import TestSupport
import Testing

@testable import KeyValueCRDT

/// What the original does wrong, each fault by the name that the documentation gives it.
@Suite("Faults of the original that are mended", .timeLimit(.minutes(3)))
struct MendedFaultTests {
  private func memory(_ name: String = "test") throws -> KeyValueDatabase {
    try KeyValueDatabase(fileURL: nil, authorDescription: name)
  }

  @Test("relay: a removal reaches a third copy through a second that never saw the value")
  func relay() throws {
    let (alice, bob, carol, dave) = (try memory(), try memory(), try memory(), try memory())
    try alice.writeText("v1", to: "k")
    try dave.merge(source: alice)
    try bob.merge(source: alice)
    try bob.writeText("v2", to: "k")
    try carol.merge(source: bob)
    try dave.merge(source: carol)
    #expect(try dave.read(key: "k").text == "v2")
    // And one that has it from the third.
    try alice.merge(source: dave)
    #expect(try alice.read(key: "k").text == "v2")
    #expect(try alice.verify() == [])
  }

  @Test("erase with conflicts: every version of a key stays")
  func eraseWithConflicts() throws {
    let copies = try (1...3).map { try memory("device \($0)") }
    for (number, copy) in copies.enumerated() {
      try copy.writeText(
        "text \(number)", to: "shared", timestamp: Date(timeIntervalSince1970: Double(number)))
      try copy.writeText("own \(number)", to: "own \(number)")
    }
    for copy in copies.dropFirst() { try copies[0].merge(source: copy) }
    try copies[0].writeText("later", to: "own 1")
    let before = try copies[0].bulkRead().mapValues { $0.map(\.value) }
    try copies[0].eraseVersionHistory()
    #expect(try copies[0].bulkRead().mapValues { $0.map(\.value) } == before)
    #expect(
      try copies[0].statistics
        == Statistics(
          entryCount: 6, authorCount: 3, tombstoneCount: 0, authorTableIsConsistent: true))
    #expect(try copies[0].verify() == [])
    // The oldest of each key is the eraser's, and he goes on counting.
    #expect(try copies[0].read(key: "own 1").first?.authorID == copies[0].instanceID)
    #expect(try copies[0].writeText("on", to: "shared") == 5)
    #expect(try copies[0].read(key: "shared").text == "on")
    #expect(try copies[0].searchText(for: "text") == [])
  }

  @Test("erase keeping knowledge: merging an old copy doubles nothing, on either side")
  func eraseKeepingKnowledge() throws {
    let alice = try memory("Alice")
    let bob = try memory("Bob")
    for number in 1...5 { try alice.writeText("v", to: "key \(number)") }
    try bob.merge(source: alice)
    try bob.delete(key: "key 5")
    let old = try KeyValueDatabase(
      databaseWriter: try bob.makeMemoryDatabaseQueue(), authorDescription: "old")
    try bob.eraseVersionHistory(keepingKnowledge: true)
    try bob.merge(source: old)
    #expect(try bob.conflicts.isEmpty)
    #expect(try bob.keys.count == 4)
    try old.merge(source: bob)
    #expect(try old.conflicts.isEmpty)
    #expect(try old.keys == bob.keys)
    // What was written apart stays.
    try alice.writeText("apart", to: "key 1")
    try bob.merge(source: alice)
    #expect(try bob.read(key: "key 1").map(\.value) == ["v", "apart"])
    // Without knowledge the values are doubled, as in the original.
    let later = try KeyValueDatabase(databaseWriter: bob.writer, authorDescription: "later")
    try later.eraseVersionHistory()
    try later.merge(source: old)
    #expect(try later.read(key: "key 2").count == 2)
    #expect(try later.verify() == [])
  }

  @Test("3,000 authors: a file of many sessions merges into a fresh one")
  func manyAuthors() throws {
    let folder = try Folder()
    _ = try folder.database("many.kvcrdt")
    let statements = (0..<3000).map { number in
      let id = String(format: "x'%032x'", number + 1)
      return """
        INSERT INTO author VALUES (\(id), 'session \(number)', 1, '2024-01-01 00:00:00.000');
        INSERT INTO entry (scope, key, authorId, usn, timestamp, type, text) VALUES
          ('', 'key \(number)', \(id), 1, '2024-01-01 00:00:00.000', 1, 'text \(number)');
        """
    }
    try folder.sql("many.kvcrdt", "BEGIN; \(statements.joined()) COMMIT;")
    let fresh = try folder.database("fresh.kvcrdt")
    let many = try folder.database("many.kvcrdt")
    #expect(try fresh.merge(source: many).count == 3000)
    #expect(try fresh.statistics.authorCount == 3000)
    #expect(try fresh.searchText(for: "2999") == ["key 2999"])
    #expect(try fresh.verify() == [])
    // The text index was made at once; what comes singly finds its place in it.
    try fresh.writeText("another 2999", to: "later")
    #expect(try Set(fresh.searchText(for: "2999")) == ["key 2999", "later"])
    #expect(try fresh.verify() == [])
  }

  @Test(
    "quote: no character of a key is anything but itself",
    arguments: ["'", "\"", "%", "_", "\\", ")"])
  func quote(_ character: String) throws {
    let database = try memory()
    try database.writeText("right", to: "a\(character)", scope: "s\(character)")
    try database.writeText("other", to: "ab")
    try database.writeText("upper", to: "A\(character)c")
    let key = ScopedKey(scope: "s\(character)", key: "a\(character)")
    #expect(try Set(database.bulkRead(keys: ["a\(character)"]).keys) == [key])
    #expect(try Set(database.bulkReadAllScopes(keyPrefix: "a\(character)").keys) == [key])
    #expect(try Set(database.bulkReadAllScopes(keyPrefix: "a").keys) == [key, "ab"])
    #expect(try database.keys(key: "a\(character)") == [key])
  }

  @Test("a list of keys that would be SQL is a list of keys")
  func injection() throws {
    let database = try memory()
    try database.writeText("v", to: "k")
    #expect(try database.bulkRead(keys: ["x') OR 1=1 --", "k"]).count == 1)
    #expect(try database.bulkRead(keys: []).isEmpty)
  }

  @Test("NUL: a text, a key and a scope have it like any character")
  func nul() throws {
    let folder = try Folder()
    let text = "before\0after"
    let database = try folder.database("nul.kvcrdt")
    try database.writeText(text, to: "k\0a", scope: "s\0")
    try database.writeText("other", to: "k\0b", scope: "s\0")
    try database.writeJson("\"\u{2028}\"", to: "k")
    #expect(try database.read(key: "k\0a", scope: "s\0").text == text)
    #expect(try database.keys.count == 3)
    let copy = try memory()
    try copy.merge(source: try folder.database("nul.kvcrdt"))
    #expect(try copy.read(key: "k\0a", scope: "s\0").text == text)
    #expect(try copy.bulkReadAllScopes(keyPrefix: "k\0").count == 2)
  }

  @Test("two spellings of a character are two keys")
  func spellings() throws {
    let database = try memory()
    try database.writeText("composed", to: "\u{E9}")
    try database.writeText("decomposed", to: "e\u{301}")
    let read = try database.bulkRead()
    #expect(read.count == 2)
    #expect(try read["\u{E9}"]?.text == "composed")
    #expect(try read["e\u{301}"]?.text == "decomposed")
    #expect(Value.text("\u{E9}") != .text("e\u{301}"))
  }

  @Test("doubled listings: a key with two live versions is listed and found once")
  func doubledListings() throws {
    let alice = try memory()
    let bob = try memory()
    try alice.writeText("a shared word", to: "k", scope: "s")
    try bob.writeText("another shared word", to: "k", scope: "s")
    try alice.merge(source: bob)
    let key = ScopedKey(scope: "s", key: "k")
    #expect(try alice.keys == [key])
    #expect(try alice.keys(scope: "s") == [key])
    #expect(try alice.keys(key: "k") == [key])
    #expect(try alice.keys(scope: "s", key: "k") == [key])
    #expect(try alice.searchText(for: "shared") == [key])
    #expect(try alice.scopes == ["s"])
    #expect(try alice.conflicts.keys.elementsEqual([key]))
  }

  @Test("search without a word finds nothing", arguments: ["", " ", "-", "???", "\"", "\0"])
  func searchWithoutWord(_ words: String) throws {
    let database = try memory()
    try database.writeText("some text - ???", to: "k")
    #expect(try database.searchText(for: words) == [])
  }

  @Test("search takes operators of FTS5 for words")
  func searchOperators() throws {
    let database = try memory()
    try database.writeText("this and that OR Zoë's naïve Café", to: "k")
    for words in ["and that", "that OR this", "this*", "NEAR(this that)", "zoe cafe", "ZOË'S"] {
      #expect(
        try database.searchText(for: words) == (words.hasPrefix("NEAR") ? [] : ["k"]), "\(words)")
    }
    #expect(try database.searchText(for: "text:this") == [])
  }

  @Test("dry run: it tells the keys that a merge changes, and changes no byte")
  func dryRun() throws {
    let folder = try Folder()
    let receiver = try folder.database("receiver.kvcrdt")
    let source = try folder.database("source.kvcrdt")
    try receiver.writeText("mine", to: "both")
    try receiver.writeText("old", to: "changed")
    try source.merge(source: receiver)
    try source.writeText("new", to: "changed")
    try source.writeText("theirs", to: "new")
    let before = (try folder.bytes("receiver.kvcrdt"), try folder.bytes("source.kvcrdt"))
    let told = try receiver.merge(source: source, dryRun: true)
    #expect(told == ["changed", "new"])
    #expect(try folder.bytes("receiver.kvcrdt") == before.0)
    #expect(try receiver.merge(source: source) == told)
    #expect(try folder.bytes("receiver.kvcrdt") != before.0)
    #expect(try folder.bytes("source.kvcrdt") == before.1)
    // A merge of nothing new writes nothing either.
    let after = try folder.bytes("receiver.kvcrdt")
    #expect(try receiver.merge(source: source) == [])
    #expect(try folder.bytes("receiver.kvcrdt") == after)
  }

  @Test("second handle: two that write one file wait for each other")
  func secondHandle() throws {
    let folder = try Folder()
    let first = try folder.database("shared.kvcrdt")
    let second = try folder.database("shared.kvcrdt")
    let threads = try [first, second].enumerated().map { number, database in
      try SystemThreadBox("writer") {
        for count in 0..<25 {
          do { try database.writeText("\(count)", to: "key \(number)") } catch {
            Issue.record("\(error)")
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(try first.read(key: "key 0").text == "24")
    #expect(try second.read(key: "key 1").text == "24")
    #expect(try first.authors.map(\.lastWrite) == [25, 25])
  }

  @Test("save: any path is a path", arguments: ["it's.kvcrdt", "a b.kvcrdt", "ü?#%20.kvcrdt"])
  func savePath(_ name: String) throws {
    let folder = try Folder()
    let database = try memory()
    try database.writeText("text", to: "k")
    try database.save(to: folder.url(name))
    let copy = try folder.database(name)
    #expect(try copy.read(key: "k").text == "text")
    #expect(try copy.verify() == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.directory.path) == [name])
  }

  @Test("save refuses a file that is there, and leaves it as it is")
  func saveRefuses() throws {
    let folder = try Folder()
    try Data("mine".utf8).write(to: folder.url("there.kvcrdt"))
    let database = try memory()
    #expect(throws: DatabaseError.self) { try database.save(to: folder.url("there.kvcrdt")) }
    #expect(try folder.bytes("there.kvcrdt") == Array("mine".utf8))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.directory.path).count == 1)
  }

  @Test("a saved file is compact, and its text index is sound")
  func saveCompact() throws {
    let folder = try Folder()
    let database = try folder.database("large.kvcrdt")
    try database.bulkWrite(
      Dictionary(
        uniqueKeysWithValues: (0..<2000).map {
          (ScopedKey(key: "k\($0)"), Value.text("word number \($0)"))
        }))
    try database.write { block in
      try block.execute(sql: "DELETE FROM entry WHERE rowid % 2 = 0 AND key <> 'k1999'")
    }
    try database.save(to: folder.url("small.kvcrdt"))
    #expect(try folder.bytes("small.kvcrdt").count < folder.bytes("large.kvcrdt").count)
    let small = try folder.database("small.kvcrdt")
    #expect(try small.verify() == [])
    #expect(try small.searchText(for: "number 1999") == ["k1999"])
  }

  @Test("authors keep their names and times through merges")
  func authorsKeepTimes() throws {
    let alice = try memory("Alice")
    let bob = try memory("Bob")
    try alice.writeText("v", to: "k")
    let before = try #require(try alice.authors.first)
    #expect(before.timestamp != nil)
    try bob.merge(source: alice)
    #expect(try bob.authors == [before])
    try alice.writeText("v", to: "k")
    try bob.merge(source: alice)
    #expect(try bob.authors.first?.timestamp == before.timestamp)
    #expect(try bob.authors.first?.lastWrite == 2)
  }

  @Test("a failed write gives its number back, and leaves everything as it was")
  func failedWrite() throws {
    let database = try memory()
    #expect(try database.writeText("v", to: "k") == 1)
    #expect(throws: KeyValueCRDTError.invalidJSON) {
      try database.bulkWrite(["a": "text", "b": .json("{")])
    }
    #expect(throws: DatabaseError.self) {
      try database.writeText("late", to: "k", timestamp: Date(timeIntervalSince1970: 1e12))
    }
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try database.write { block in
        try database.bulkWrite(database: block, values: ["a": "text"])
        #expect(try database.read(key: "a").text == "text")
        throw Stop()
      }
    }
    #expect(try database.keys == ["k"])
    #expect(try database.writeText("w", to: "k") == 2)
  }

  @Test("the last writer is the same in every copy, also at one time")
  func lastWriterOnTie() throws {
    let date = Date(timeIntervalSince1970: 1_700_000_000)
    let copies = try (0..<4).map { try memory("\($0)") }
    for (number, copy) in copies.enumerated() {
      try copy.writeText("\(number)", to: "k", timestamp: date)
    }
    for copy in copies { for other in copies { try copy.merge(source: other) } }
    let shown = try copies.map { try $0.read(key: "k").resolved(with: .lastWriterWins) }
    #expect(Set(shown).count == 1)
    #expect(try copies[0].read(key: "k") == copies[1].read(key: "k"))
    let greatest = copies.map(\.instanceID).max { $0.uuidString < $1.uuidString }
    #expect(try copies[0].read(key: "k").last?.authorID == greatest)
  }
}

/// A thread that is joined.
final class SystemThreadBox {
  private var thread: SystemThread?

  init(_ name: String, _ body: @escaping @Sendable () -> Void) throws {
    thread = try SystemThread(name: name, body)
  }

  func join() {
    guard let thread = thread.take() else { return }
    thread.join()
  }
}
