import Platform
import SQLite
import SQLiteSums
import TestSupport
import Testing

@testable import TreeSupport

@Suite("Checksums of database pages", .timeLimit(.minutes(2)))
struct PageSumTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("sums.sqlite") }

  init() throws { directory = try TemporaryDirectory(inMemory: true) }

  private func open(_ mode: Database.Mode = .create) throws -> Database {
    let database = try Database(path: path, mode: mode, options: .withPageSums)
    try database.execute("PRAGMA journal_mode=WAL; PRAGMA mmap_size=0; PRAGMA cache_size=10")
    return database
  }

  private func fill(_ database: Database, rows: Int) throws {
    try database.execute("CREATE TABLE numbers(number INTEGER PRIMARY KEY, text TEXT)")
    try database.transaction { () throws(DatabaseError) in
      for number in 0..<rows {
        try database.prepared("INSERT INTO numbers VALUES(?, ?)")
          .bind(1, Int64(number)).bind(2, "row \(number) " + String(repeating: "x", count: 60))
          .run()
      }
    }
  }

  private func sum(_ database: Database) throws -> Int64? {
    try database.integer("SELECT sum(number) + sum(length(text)) FROM numbers")
  }

  private func flip(bit: Int, of path: String) throws {
    let file = try File(path, .readWrite)
    var byte = try file.read(1, at: UInt64(bit / 8))
    byte[0] ^= 1 << UInt8(bit % 8)
    try file.write(byte, at: UInt64(bit / 8))
  }

  @Test("a database is read as it was written, through the log and after it was emptied")
  func readsBack() throws {
    var database: Database? = try open()
    try database.map { try fill($0, rows: 2000) }
    let expected = try database.flatMap { try sum($0) }
    #expect(try open(.readOnly).integer("SELECT count(*) FROM numbers") == 2000)
    database?.emptyLog()
    #expect(try database.flatMap { try sum($0) } == expected)
    database = nil
    let again = try open(.readWrite)
    #expect(try sum(again) == expected)
    #expect(try again.integrityCheck() == [])
  }

  @Test("each flipped bit of each class of a page is found and nothing else is shown for it")
  func findsDamage() throws {
    try fill(try open(), rows: 2000)
    let whole = try FileSystem.read(path, atMost: 1 << 24)
    #expect(whole.count % 4096 == 0 && whole.count > 20 * 4096)
    var expected: Int64?
    do { expected = try sum(try open(.readOnly)) }
    var random = SeededRandom(seed: 11)
    // Every bit position in a byte, at the header, in the middle and in the sum of many pages.
    for round in 0..<600 {
      let page = Int.random(in: 0..<(whole.count / 4096), using: &random)
      let offset =
        switch round % 3 {
        case 0: Int.random(in: 0..<100, using: &random)
        case 1: Int.random(in: 100..<4088, using: &random)
        default: Int.random(in: 4088..<4096, using: &random)
        }
      let bit = (page * 4096 + offset) * 8 + round % 8
      try flip(bit: bit, of: path)
      do {
        let database = try open(.readOnly)
        let found = try sum(database)
        // A page that no query read, such as a free one, may be damaged; a wrong answer never comes.
        #expect(found == expected, "bit \(bit)")
        #expect(throws: DatabaseError.self, "bit \(bit)") {
          for line in try database.integrityCheck() { throw DatabaseError.corrupt(line) }
        }
      } catch is DatabaseError {
        // The damage was found.
      }
      try flip(bit: bit, of: path)
    }
    #expect(try sum(try open(.readOnly)) == expected)
  }

  @Test("a page that stands in another's place is found")
  func findsMisplacedPages() throws {
    try fill(try open(), rows: 2000)
    let file = try File(path, .readWrite)
    let page = try file.read(4096, at: 5 * 4096)
    try file.write(page, at: 6 * 4096)
    let database = try open(.readOnly)
    #expect(throws: DatabaseError.self) { try sum(database) }
  }

  @Test("a page of the log that changed on the disk is found by the process that wrote it")
  func findsDamageInLog() throws {
    let writer = try open()
    writer.watchLog()
    try fill(writer, rows: 2000)
    let log = path + "-wal"
    let size = Int(try FileSystem.status(log).size)
    #expect(size > 42 * 4120)
    var found = 0
    for frame in 1..<40 {
      let bit = (32 + frame * 4120 + 24 + 2000) * 8
      try flip(bit: bit, of: log)
      // A connection of its own has nothing in its cache.
      do { _ = try sum(try open(.readOnly)) } catch is DatabaseError { found += 1 }
      try flip(bit: bit, of: log)
    }
    #expect(found > 30, "\(found)")
  }

  @Test("calls pass the seam where tests force faults")
  func passesFaults() throws {
    DatabaseFaults.install()
    let database = try open()
    let token = Faults.arm(
      Faults.Plan(calls: [.write], below: directory.path, action: .fail(Errno.noSpace)))
    #expect(throws: DatabaseError.self) { try fill(database, rows: 100) }
    #expect(Faults.disarm(token) > 0)
    try fill(database, rows: 100)
  }
}
