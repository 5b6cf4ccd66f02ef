import Events
import Grammar
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import Control
@testable import LLVSCore
@testable import TreeSupport

/// A value that rotted in a version which is not sent yet.
@Suite(.timeLimit(.minutes(1)))
struct DamagedSendTests {
  enum Form: CaseIterable { case files, bundles, store }

  let space: ControlWorkspace
  let other: ControlWorkspace

  init() throws {
    space = try ControlWorkspace()
    other = try ControlWorkspace()
  }

  /// Where the head's bytes at a name stand, of a long value the last of them, or its topmost node.
  func place(_ name: String, node: Bool = false) throws -> Location {
    let head = try #require(try space.store.state().headMap)
    let entry = try #require(try space.store.map(head).entry(at: Key(name)))
    switch entry.stored.content {
    case .chunk(let location): return location
    case .tree(let location) where node: return location
    case .tree(let location):
      return try #require(try space.store.contents.node(location).items.last?.location)
    default: throw SystemError(errno: Errno.invalid, call: "rot", subject: name)
    }
  }

  /// Flips a bit in the middle of a record.
  func rot(_ name: String, node: Bool = false) throws {
    let place = try place(name, node: node)
    let file = try File(space.store.records.files.path(place.segment), .readWrite)
    let at = place.offset + UInt64(place.length) / 2
    try file.write([try file.read(1, at: at)[0] ^ 4], at: at)
  }

  func text(_ seed: UInt64, _ count: Int) -> String {
    var random = SeededRandom(seed: seed)
    return String(decoding: random.bytes(count).map { 0x21 + $0 % 90 }, as: UTF8.self)
  }

  func connect(_ form: Form) throws {
    let folder = space.directory.file("folder")
    try FileSystem.makeDirectory(folder)
    let own = form == .store ? other.store.path : folder
    let prefix = form == .files ? "plain+" : ""
    // Another store takes in what it is sent by itself: nobody else may have it open for writing.
    try space.service.setPeer("usb", address: Array("\(prefix)\(own)".utf8))
    try other.service.setPeer(
      "usb", address: Array("\(form == .store ? "" : prefix)\(folder)".utf8))
  }

  func failure(_ line: String) throws -> ControlError? {
    do {
      try space.run(line)
      return nil
    } catch let error as ControlError {
      return error
    }
  }

  @Test(
    "what does not need a damaged value is sent, what does is named, and the same bytes heal it",
    arguments: [Form.files, .bundles], [200, 5000, 400_000])
  func send(_ form: Form, length: Int) throws {
    try connect(form)
    try space.write("good", text(1, 3000))
    try space.run("commit")
    let first = try #require(try space.head)
    let bad = text(2, length)
    try space.write("bad", bad)
    try space.run("commit the damaged one")
    let damaged = try #require(try space.head)
    try rot("bad")
    try space.remove("bad")
    try space.write("after", "after")
    try space.run("commit")
    let line = try #require(try space.head)
    try space.run("switch \(first) as side")
    try space.write("beside", "beside")
    try space.run("commit")
    for _ in 0..<2 {
      let error = try #require(try failure("sync"))
      #expect(error.kind == .damaged)
      #expect(error.message.contains("2 not sent"), "\(error.message)")
      #expect(error.message.contains(damaged) && error.message.contains(": bad: "))
    }
    let status = try space.service.status().text
    #expect(status.contains("usb       failed ") && status.contains(damaged), "\(status)")
    #expect(status.contains("2 versions to send"), "\(status)")
    let log = EventLog(directory: space.store.path).lastLines(20)
    #expect(log.contains { $0.contains("not sent") && $0.contains(damaged) }, "\(log)")
    // The other line is there, and nothing that could not be taken.
    let taken = try other.run("retrieve")
    #expect(!taken.text.contains("not whole") && !taken.text.contains("refused"))
    try other.run("switch side")
    #expect(try other.read("beside") == "beside")
    // Whoever has the bytes writes them, under any name.
    try space.run("switch \(line)")
    try space.write("restored", bad)
    try space.run("commit")
    #expect(try space.read("restored") == bad)
    try space.run("sync")
    #expect(try space.run("verify").text.contains("no damage found"))
    try other.run("sync")
    try other.run("switch -")
    #expect(try other.read("restored") == bad)
    #expect(try space.service.status().text.contains("usb       ok "))
  }

  @Test("another store is sent what can be sent")
  func store() throws {
    let folder = space.directory.file("target")
    _ = try Store.open(path: folder, mode: .writer, create: true)
    try space.service.setPeer("other", address: Array(folder.utf8))
    try space.write("good", text(1, 3000))
    try space.run("commit")
    try space.write("bad", text(2, 5000))
    try space.run("commit")
    let damaged = try #require(try space.head)
    try rot("bad")
    let error = try #require(try failure("sync"))
    #expect(error.kind == .damaged && error.message.contains("1 sent, 1 not sent"))
    #expect(error.message.contains(damaged) && error.message.contains("bad"), "\(error.message)")
    let target = try Store.open(path: folder, mode: .reader)
    #expect(try target.state().lastNumber == 1)
  }

  @Test(
    "the bytes that a damaged file had, written into it again, are there afterwards",
    arguments: [(200, false), (5000, false), (400_000, false), (400_000, true)])
  func again(length: Int, node: Bool) throws {
    let bytes = text(2, length)
    try space.write("bad", bytes)
    try space.run("commit")
    let first = try #require(try space.head)
    try rot("bad", node: node)
    try space.write("bad", bytes)
    try space.run("commit")
    #expect(try space.read("bad") == bytes)
    #expect(try space.run("verify").text.contains("no damage found"))
    #expect(try space.head == first)
  }

  @Test(
    "bytes whose place is gone for good are stored in another when they are written again",
    arguments: [(200, false), (5000, false), (400_000, false), (400_000, true)])
  func elsewhere(length: Int, node: Bool) throws {
    let bytes = text(2, length)
    try space.write("bad", bytes)
    try space.run("commit")
    let place = try place("bad", node: node)
    var random = SeededRandom(seed: 9)
    let other = random.bytes(Int(place.length))
    let file = try File(space.store.records.files.path(place.segment), .readWrite)
    // Nothing there tells any more that these bytes stood there: it is left alone.
    try file.write(other, at: place.offset)
    try space.write("bad", bytes)
    try space.run("commit")
    #expect(try space.read("bad") == bytes)
    #expect(try file.read(other.count, at: place.offset) == other)
    // It is a version like others, with nothing new in it.
    try space.write("good", "good")
    try space.run("commit")
    #expect(try space.read("bad") == bytes)
    #expect(try space.failure("verify") == .damaged)
  }
}
