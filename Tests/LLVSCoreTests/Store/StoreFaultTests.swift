import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import SQLite
@testable import StoreSupport

/// The numbered invariants, each with calls that fail or a process that dies.
@Suite(.timeLimit(.minutes(3)))
struct StoreFaultTests {
  static let key = Value.ID("k")

  /// What is written later by itself, in a thread of its own, and made anew where that fails: no call of it
  /// belongs to a commit.
  static let aside = "s/index.sqlite"

  /// What a commit writes: a small value, one of a chunk, and a tree of several.
  static func changes(_ seed: UInt64) -> [Value.Change] {
    var random = SeededRandom(seed: seed)
    return [
      .insert(Value(id: key, data: Array("version \(seed)".utf8))),
      .insert(Value(id: Value.ID("chunk"), data: random.bytes(40_000))),
      .insert(Value(id: Value.ID("tree"), data: random.bytes(2_000_000))),
    ]
  }

  static func text(_ store: Store) throws -> String? {
    guard let head = try store.mostRecentHead else { return nil }
    for change in changes(try store.state().lastNumber == 1 ? 1 : 2) {
      guard case .insert(let value) = change, value.id != key else { continue }
      let stored = try store.value(id: value.id, at: head.id)
      guard stored?.data == value.data else { return "damaged \(value.id.rawValue)" }
    }
    return try store.value(id: key, at: head.id).map { String(decoding: $0.data, as: UTF8.self) }
  }

  @Test(
    "whichever call fails, a commit throws, nothing happened, and the next commit succeeds",
    arguments: [Errno.noSpace, Errno.inputOutput])
  func failing(code: Int32) throws {
    DatabaseFaults.install()
    var failures = 0
    for nth in 1... {
      let directory = try TemporaryDirectory()
      do {
        let store = try Store.open(path: directory.file("s"), create: true)
        let first = try store.makeVersion(
          basedOnPredecessor: nil, storing: StoreFaultTests.changes(1))
        let plan = Faults.Plan(
          calls: [.open, .write, .sync, .allocate, .truncate], below: directory.path,
          sparing: directory.file(Self.aside), nth: nth, times: 1, action: .fail(code))
        let token = Faults.arm(plan)
        var hasFailed = false
        do {
          try store.makeVersion(
            basedOnPredecessor: first.id, storing: StoreFaultTests.changes(2))
        } catch {
          hasFailed = true
        }
        let seen = Faults.disarm(token)
        guard seen >= nth else {
          #expect(!hasFailed)
          break
        }
        #expect(hasFailed)
        failures += 1
        #expect(try StoreFaultTests.text(store) == "version 1")
        // The segment of the failure is left; the same commit goes into another.
        try store.makeVersion(
          basedOnPredecessor: first.id, storing: StoreFaultTests.changes(2))
        #expect(try StoreFaultTests.text(store) == "version 2")
      }
      let store = try Store.open(path: directory.file("s"))
      #expect(try StoreFaultTests.text(store) == "version 2")
      #expect(try store.state().lastNumber == 2)
    }
    #expect(failures >= 5)
  }

  @Test("after a failed sync no byte is written to that segment again")
  func abandonedSegment() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let first = try store.makeVersion(
      basedOnPredecessor: nil, storing: StoreFaultTests.changes(1))
    let token = Faults.arm(
      Faults.Plan(
        calls: [.sync], below: directory.path, sparing: directory.file(Self.aside), times: 1,
        action: .fail(Errno.inputOutput)))
    #expect(throws: StoreError.self) {
      try store.makeVersion(basedOnPredecessor: first.id, storing: StoreFaultTests.changes(2))
    }
    Faults.disarm(token)
    let segment = directory.file("s/segments/00000001.seg")
    let size = try FileSystem.status(segment).size
    try store.makeVersion(basedOnPredecessor: first.id, storing: StoreFaultTests.changes(2))
    #expect(try FileSystem.status(segment).size == size)
    #expect(try FileSystem.exists(directory.file("s/segments/00000002.seg")))
    #expect(try StoreFaultTests.text(store) == "version 2")
  }

  @Test(
    "a commit that finds the disk full leaves none of its bytes there", arguments: [true, false])
  func fullDisk(isFirst: Bool) throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let segments = directory.file("s/segments")
    func size() throws -> UInt64 {
      try FileSystem.list(segments).reduce(0) {
        try $0 + FileSystem.status("\(segments)/\($1)").size
      }
    }
    var head: Version?
    if !isFirst {
      head = try store.makeVersion(basedOnPredecessor: nil, storing: StoreFaultTests.changes(1))
    }
    let before = try size()
    let token = Faults.arm(
      Faults.Plan(
        calls: [.write], below: segments, nth: isFirst ? 3 : 2, action: .fail(Errno.noSpace)))
    #expect(throws: StoreError.self) {
      try store.makeVersion(basedOnPredecessor: head?.id, storing: StoreFaultTests.changes(2))
    }
    #expect(Faults.disarm(token) > 1)
    #expect(try size() <= before + 100)
    try store.makeVersion(basedOnPredecessor: head?.id, storing: StoreFaultTests.changes(2))
    let shown = try #require(try store.mostRecentHead)
    let value = try store.value(id: StoreFaultTests.key, at: shown.id)
    #expect(value?.data == Array("version 2".utf8))
  }

  @Test("short writes are carried on with")
  func shortWrites() throws {
    let directory = try TemporaryDirectory()
    let token = Faults.arm(
      Faults.Plan(calls: [.write], below: directory.path, action: .short(4000)))
    defer { Faults.disarm(token) }
    let store = try Store.open(path: directory.file("s"), create: true)
    try store.makeVersion(basedOnPredecessor: nil, storing: StoreFaultTests.changes(1))
    #expect(try StoreFaultTests.text(store) == "version 1")
  }

  @Test(
    "whichever call the process dies at, the next open shows the last commit whole",
    arguments: 1...12)
  func dying(nth: Int) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path
    do {
      let store = try Store.open(path: "\(path)/s", create: true)
      try store.makeVersion(basedOnPredecessor: nil, storing: StoreFaultTests.changes(1))
    }
    await #expect(processExitsWith: .exitCode(137)) {
      [path = path as String, nth = nth as Int] in
      DatabaseFaults.install()
      let store = try Store.open(path: "\(path)/s")
      let first = try #require(try store.mostRecentHead)
      _ = Faults.arm(
        Faults.Plan(
          calls: [.open, .write, .sync], below: path, nth: nth, action: .dieAfter(100_000)))
      try store.makeVersion(basedOnPredecessor: first.id, storing: StoreFaultTests.changes(2))
      // Beyond the last call of a commit: the commit is whole, and this dies too.
      SystemProcess.exitAtOnce(137)
    }
    let store = try Store.open(path: "\(path)/s")
    let text = try StoreFaultTests.text(store)
    #expect(text == "version 1" || text == "version 2")
    #expect(try store.state().lastNumber == (text == "version 1" ? 1 : 2))
    let head = try #require(try store.mostRecentHead)
    if text == "version 1" {
      try store.makeVersion(basedOnPredecessor: head.id, storing: StoreFaultTests.changes(2))
      #expect(try StoreFaultTests.text(store) == "version 2")
    }
  }

  static func read(_ store: Store, _ id: Version.ID) -> (bytes: [UInt8]?, message: String?) {
    do throws(StoreError) {
      return (try store.value(id: key, at: id)?.data, nil)
    } catch {
      return (nil, "\(error)")
    }
  }

  @Test("a changed byte in a record is an error that names the place, never wrong bytes")
  func damagedRecord() throws {
    let directory = try TemporaryDirectory()
    var random = SeededRandom(seed: 7)
    let bytes = random.bytes(50_000)
    let id: Version.ID
    do {
      let store = try Store.open(path: directory.file("s"), create: true)
      id = try store.makeVersion(
        basedOnPredecessor: nil, inserting: [Value(id: StoreFaultTests.key, data: bytes)]
      ).id
    }
    let segment = directory.file("s/segments/00000001.seg")
    let size = Int(try FileSystem.status(segment).size)
    var damaged = 0
    for offset in stride(from: 40, to: size, by: 997) {
      let file = try File(segment, .readWrite)
      let old = try file.read(1, at: UInt64(offset))
      try file.write([old[0] ^ 0x10], at: UInt64(offset))
      let store = try Store.open(path: directory.file("s"))
      let read = StoreFaultTests.read(store, id)
      if let message = read.message {
        #expect(message.contains("corrupt") && message.contains("00000001.seg"))
        damaged += 1
      } else {
        #expect(read.bytes == bytes)
      }
      try file.write(old, at: UInt64(offset))
    }
    #expect(damaged > 40)
  }
}
