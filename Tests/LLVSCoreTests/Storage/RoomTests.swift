import LLVSCore
import Platform
import TestSupport
import Testing

@testable import SQLite
@testable import StoreSupport

/// Zeros ahead of small commits, in the open segment and in the log of the catalog.
@Suite(.timeLimit(.minutes(3)))
struct RoomTests {
  static let key = Value.ID("k")

  static func data(_ number: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(number))
    return random.bytes(300)
  }

  /// Makes versions one by one, each on the newest, and returns how many the store has then.
  @discardableResult
  static func extend(_ store: Store, by count: Int) throws -> Int {
    for _ in 0..<count {
      let head = try store.mostRecentHead?.id
      let number = Int(try store.state().lastNumber) + 1
      try store.makeVersion(
        basedOnPredecessor: head, updating: [Value(id: key, data: data(number))])
    }
    return Int(try store.state().lastNumber)
  }

  /// Checks every version and returns how many there are.
  static func check(_ store: Store) throws -> Int {
    let count = Int(try store.state().lastNumber)
    for number in 1...max(count, 1) where count > 0 {
      let record = try #require(try store.version(VersionNumber(UInt32(number))))
      #expect(try store.value(id: key, at: record.id)?.data == data(number))
    }
    #expect(try store.verify().isSound)
    return count
  }

  static func size(_ directory: TemporaryDirectory, _ name: String) throws -> UInt64 {
    let path = directory.file("s/\(name)")
    return try FileSystem.exists(path) ? FileSystem.status(path).size : 0
  }

  private static let segment = "segments/00000001.seg"

  @Test("a session with few commits writes nothing ahead")
  func few() throws {
    let directory = try TemporaryDirectory()
    // Making a store writes more into the log than a commit does.
    do { _ = try Store.open(path: directory.file("s"), create: true) }
    let store = try Store.open(path: directory.file("s"))
    try RoomTests.extend(store, by: 2)
    #expect(try RoomTests.size(directory, RoomTests.segment) < 16 << 10)
    #expect(try RoomTests.size(directory, "store.sqlite-wal") < 200 << 10)
  }

  @Test("one with many has room ahead while it lasts, and nothing of it stays")
  func many() throws {
    let directory = try TemporaryDirectory()
    do {
      let store = try Store.open(path: directory.file("s"), create: true)
      try RoomTests.extend(store, by: 12)
      #expect(try RoomTests.size(directory, RoomTests.segment) >= 256 << 10)
      let log = try RoomTests.size(directory, "store.sqlite-wal")
      #expect(log >= 256 << 10)
      // Others see the zeros and what is committed before them.
      let reader = try Store.open(path: directory.file("s"), mode: .reader)
      #expect(try RoomTests.check(reader) == 12)
      try RoomTests.extend(store, by: 1)
      #expect(try RoomTests.size(directory, "store.sqlite-wal") == log)
      #expect(try RoomTests.check(reader) == 13)
    }
    #expect(try RoomTests.size(directory, RoomTests.segment) < 64 << 10)
    #expect(try RoomTests.size(directory, "store.sqlite-wal") == 0)
    let store = try Store.open(path: directory.file("s"))
    #expect(try RoomTests.check(store) == 13)
    // An older session's segment is left as it is.
    let size = try RoomTests.size(directory, RoomTests.segment)
    try RoomTests.extend(store, by: 12)
    #expect(try RoomTests.size(directory, RoomTests.segment) == size)
  }

  @Test("the log is as long as between two checkpoints, however many commits there are")
  func bounded() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    try RoomTests.extend(store, by: 200)
    let log = try RoomTests.size(directory, "store.sqlite-wal")
    try RoomTests.extend(store, by: 200)
    #expect(try RoomTests.size(directory, "store.sqlite-wal") == log)
    #expect(log < 5 << 20)
    #expect(try RoomTests.check(store) == 400)
  }

  @Test("a segment that is full is left without the zeros")
  func full() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    store.limitSegments(to: 10_000)
    try RoomTests.extend(store, by: 60)
    #expect(try FileSystem.exists(directory.file("s/segments/00000003.seg")))
    #expect(try RoomTests.size(directory, RoomTests.segment) < 32 << 10)
    #expect(try RoomTests.check(store) == 60)
  }

  @Test("whichever write or sync fails once, zeros fail no commit, and a commit that fails is none")
  func failing() throws {
    DatabaseFaults.install()
    for code in [Errno.noSpace, Errno.inputOutput] {
      var (failures, unharmed) = (0, 0)
      for nth in 1... {
        let directory = try TemporaryDirectory()
        var made = 0
        do {
          let store = try Store.open(path: directory.file("s"), create: true)
          made = try RoomTests.extend(store, by: 1)
          let token = Faults.arm(
            Faults.Plan(
              calls: [.open, .write, .sync, .truncate, .status], below: directory.path, nth: nth,
              times: 1, action: .fail(code)))
          var failed = 0
          for _ in 0..<7 {
            if (try? RoomTests.extend(store, by: 1)) == nil { failed += 1 } else { made += 1 }
          }
          guard Faults.disarm(token) >= nth else { break }
          failures += failed
          if failed == 0 { unharmed += 1 }
          #expect(failed <= 1)
          #expect(try RoomTests.check(store) == made, "call \(nth)")
          try RoomTests.extend(store, by: 8)
        }
        #expect(
          try RoomTests.check(Store.open(path: directory.file("s"))) == made + 8, "call \(nth)")
      }
      #expect(failures > 20)
      // The zeros of the segment and of the log.
      #expect(unharmed >= 3)
    }
  }

  @Test(
    "whichever call the process dies at, with or without zeros, every commit that returned is there",
    arguments: [1, 9, 17, 40, 41, 42, 43, 57, 58, 59, 60, 61, 62, 75, 76, 77, 78, 79, 80, 200])
  func dying(nth: Int) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path
    await #expect(processExitsWith: .exitCode(137)) {
      [path = path as String, nth = nth as Int] in
      DatabaseFaults.install()
      let store = try Store.open(path: "\(path)/s", create: true)
      try RoomTests.extend(store, by: 2)
      let told = try File("\(path)/told", [.readWrite, .create])
      _ = Faults.arm(
        Faults.Plan(calls: [.write, .sync], below: "\(path)/s", nth: nth, action: .dieAfter(3000)))
      for _ in 0..<8 {
        let made = try RoomTests.extend(store, by: 1)
        try told.write([UInt8(made)], at: 0)
      }
      SystemProcess.exitAtOnce(137)
    }
    let told = try File(directory.file("told"), .read).read(1, at: 0).first ?? 2
    let store = try Store.open(path: directory.file("s"))
    let found = try RoomTests.check(store)
    #expect(found == Int(told) || found == Int(told) + 1)
    try RoomTests.extend(store, by: 8)
    #expect(try RoomTests.check(store) == found + 8)
  }
}
