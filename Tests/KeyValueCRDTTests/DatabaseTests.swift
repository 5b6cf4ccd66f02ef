import Foundation
import Platform
import Synchronization
import Testing

@testable import KeyValueCRDT

@Suite("Writers, blocks and threads", .timeLimit(.minutes(2)))
struct DatabaseTests {
  @Test("a block reads and writes tables of the application's own")
  func ownTables() throws {
    let database = try KeyValueDatabase(fileURL: nil, authorDescription: "test")
    try database.write { block in
      try block.execute(sql: "CREATE TABLE own (a, b, c, d, e)")
      try block.execute(
        sql: "INSERT INTO own VALUES (?, ?, ?, ?, ?)",
        arguments: [1, 2.5, "text\0", nil, .blob(Data([0, 255]))])
      #expect(try block.lastInsertedRowID == 1)
    }
    let rows = try database.read { try $0.rows(sql: "SELECT * FROM own") }
    let row = try #require(rows.first)
    #expect(row.count == 5)
    #expect(row["a"] == 1 && row[1] == 2.5 && row["c"] == "text\0" && row["d"] == nil)
    #expect(row["e"].blob == Data([0, 255]))
    #expect(row["none"] == .null)
    #expect(row["a"].real == 1 && row["a"].text == nil)
  }

  @Test("a database is of no use after its block, nor with another file's instance")
  func afterBlock() throws {
    let database = try KeyValueDatabase(fileURL: nil, authorDescription: "test")
    let other = try KeyValueDatabase(fileURL: nil, authorDescription: "test")
    let kept = Mutex<KeyValueCRDT.Database?>(nil)
    try database.write { block in
      kept.withLock { $0 = block }
      #expect(throws: DatabaseError.self) {
        try other.bulkWrite(database: block, values: ["k": "v"])
      }
    }
    let block = try #require(kept.withLock { $0 })
    #expect(throws: DatabaseError.self) { try block.rows(sql: "SELECT 1") }
    #expect(throws: DatabaseError.self) {
      try database.bulkWrite(database: block, values: ["k": "v"])
    }
    #expect(throws: DatabaseError.self) { try database.bulkRead(database: block) }
    #expect(throws: DatabaseError.self) {
      try database.read { try database.bulkWrite(database: $0, values: ["k": "v"]) }
    }
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.execute(sql: "ROLLBACK") }
    }
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.execute(sql: "SELECT ?", arguments: [1, 2]) }
    }
    #expect(try database.bulkRead().isEmpty)
  }

  @Test("errors of SQL have SQLite's code and words")
  func errors() throws {
    let database = try KeyValueDatabase(fileURL: nil, authorDescription: "test")
    do {
      try database.write { try $0.execute(sql: "SELEC 1") }
      Issue.record("it must throw")
    } catch let error as DatabaseError {
      #expect(error.resultCode == .error)
      #expect(error.message.contains("syntax error"))
    }
    do {
      try database.write { try $0.execute(sql: "INSERT INTO author (id) VALUES (1)") }
      Issue.record("it must throw")
    } catch let error as DatabaseError {
      #expect(error.resultCode == .constraint)
    }
  }

  @Test("within a block that reads or writes, the methods see and make one state")
  func nested() throws {
    let database = try KeyValueDatabase(fileURL: nil, authorDescription: "test")
    try database.write { block in
      let numbers = [
        try database.writeText("1", to: "a"), try database.writeText("2", to: "b"),
      ]
      #expect(numbers == [1, 2])
      #expect(try database.keys == ["a", "b"])
      #expect(try database.bulkRead(database: block, scope: "", key: "a").count == 1)
      #expect(try database.bulkRead(database: block) { $1 == "b" }.count == 1)
    }
    try database.read { block in
      let all = try database.bulkRead(database: block)
      #expect(all.count == 2)
      #expect(
        try database.bulkRead { _, key in (try? database.read(key: key).text) == "1" }.count == 1)
    }
  }

  @Test("a pool reads while another thread writes, and sees no part of a transaction")
  func pool() throws {
    let folder = try Folder()
    let pool = try DatabasePool(path: folder.path("pool.kvcrdt"), synchronous: .normal)
    let database = try KeyValueDatabase(databaseWriter: pool, authorDescription: "test")
    try database.bulkWrite(["a": "0", "b": "0"])
    let isDone = Atomic<Bool>(false)
    let seen = Mutex<Set<Int>>([])
    let readers = try (0..<8).map { _ in
      try SystemThreadBox("reader") {
        while !isDone.load(ordering: .relaxed) {
          do {
            let texts = try database.bulkRead().values.map { try $0.text }
            seen.withLock { _ = $0.insert(Set(texts).count) }
          } catch { Issue.record("\(error)") }
        }
      }
    }
    for count in 1...200 {
      try database.bulkWrite(["a": .text("\(count)"), "b": .text("\(count)")])
    }
    isDone.store(true, ordering: .relaxed)
    for reader in readers { reader.join() }
    #expect(seen.withLock { $0 } == [1])
    #expect(try database.read(key: "a").text == "200")
    // Its own writes are seen before they are committed, others' are not.
    try database.write { _ in
      try database.writeText("mine", to: "a")
      #expect(try database.read(key: "a").text == "mine")
    }
    #expect(throws: DatabaseError.self) { try DatabasePool(path: ":memory:") }
  }

  @Test("many threads use one instance, and two merge each other at one time")
  func threads() throws {
    let copies = try (0..<2).map {
      try KeyValueDatabase(fileURL: nil, authorDescription: "\($0)")
    }
    let threads = try (0..<8).map { number in
      try SystemThreadBox("worker") {
        do {
          let mine = copies[number % 2]
          let other = copies[(number + 1) % 2]
          for count in 0..<30 {
            try mine.writeText("\(count)", to: "key \(number)")
            if count % 3 == 0 { try mine.merge(source: other) }
            _ = try mine.dominates(other: other)
            _ = try mine.keys
          }
        } catch { Issue.record("\(error)") }
      }
    }
    for thread in threads { thread.join() }
    try copies[0].merge(source: copies[1])
    try copies[1].merge(source: copies[0])
    #expect(try copies[0].bulkRead() == copies[1].bulkRead())
    #expect(try copies[0].keys.count == 8)
    #expect(try copies[0].authors.map(\.lastWrite) == [120, 120])
  }

  @Test("instances of one writer are authors of their own, and merging them changes nothing")
  func sharedWriter() throws {
    let queue = try DatabaseQueue()
    let first = try KeyValueDatabase(databaseWriter: queue, authorDescription: "1")
    let second = try KeyValueDatabase(databaseWriter: queue, authorDescription: "2")
    try first.writeText("1", to: "k")
    try second.writeText("2", to: "k")
    #expect(try first.read(key: "k").text == "2")
    #expect(try first.merge(source: second) == [])
    #expect(try first.merge(source: first) == [])
    #expect(try first.dominates(other: second))
    #expect(try first.authors.count == 2)
  }

  @Test("two openings of one file merge without a change, and without waiting for themselves")
  func sameFile() throws {
    let folder = try Folder()
    let first = try folder.database("one.kvcrdt")
    let second = try folder.database("one.kvcrdt")
    try first.writeText("1", to: "k")
    try second.writeText("2", to: "l")
    let before = try folder.bytes("one.kvcrdt")
    #expect(try first.merge(source: second) == [])
    #expect(try second.merge(source: first) == [])
    #expect(try folder.bytes("one.kvcrdt") == before)
  }

  @Test("a file that another holds for too long gives an error, not a change")
  func busy() throws {
    let folder = try Folder()
    let database = try folder.database("busy.kvcrdt")
    try database.writeText("1", to: "k")
    let other = try DatabaseQueue(path: folder.path("busy.kvcrdt"))
    try other.write { block in
      try block.execute(sql: "UPDATE author SET name = 'held'")
      do {
        try database.writeText("2", to: "k")
        Issue.record("it must throw")
      } catch let error as DatabaseError {
        #expect(error.resultCode == .busy)
      }
      #expect(try database.read(key: "k").text == "1")
    }
    #expect(try database.writeText("2", to: "k") == 2)
  }

  @Test("triggers of the application's own run, also when many entries are written")
  func ownTriggers() throws {
    let database = try KeyValueDatabase(fileURL: nil, authorDescription: "test")
    try database.write {
      try $0.execute(
        sql: """
          CREATE TABLE log (key);
          CREATE TRIGGER own AFTER INSERT ON entry BEGIN INSERT INTO log VALUES (new.key); END
          """)
    }
    try database.bulkWrite(
      Dictionary(
        uniqueKeysWithValues: (0..<500).map { (ScopedKey(key: "\($0)"), Value.text("word")) }))
    #expect(try database.read { try $0.rows(sql: "SELECT * FROM log").count } == 500)
    #expect(try database.searchText(for: "word").count == 500)
    #expect(try database.verify() == [])
  }
}
