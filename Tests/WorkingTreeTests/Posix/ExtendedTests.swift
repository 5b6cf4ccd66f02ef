import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Extended attributes, over a recorded tree of a real store.
@Suite("Extended attributes", .timeLimit(.minutes(2)))
struct ExtendedTests {
  static let long = Attributes.Extended(
    name: Array("user.long".utf8), value: [UInt8](repeating: 0x6C, count: 5_000))

  private func name(_ text: String) -> [UInt8] { Array(text.utf8) }

  private func names(_ tree: WorkingTree, _ number: InodeNumber) throws -> [String] {
    try tree.listxattr(number).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("an attribute is set, listed, replaced and removed", arguments: JournalKind.allCases)
  func life(kind: JournalKind) throws {
    let fixture = try FileFixture(["file": [1], "d/x": [2]], over: kind)
    for file in ["file", "d"] {
      let number = try fixture.number(file)
      let before = try fixture.tree.status(of: number)
      expect(.noData) { try fixture.tree.getxattr(number, name("user.a")) }
      expect(.noData) { try fixture.tree.removexattr(number, name("user.a")) }
      expect(.noData) {
        try fixture.tree.setxattr(number, name("user.a"), [1], mode: .replace)
      }
      #expect(try names(fixture.tree, number) == [])
      try fixture.tree.setxattr(number, name("user.b"), [], mode: .create)
      try fixture.tree.setxattr(number, name("user.a"), [7, 0, 8])
      expect(.exists) { try fixture.tree.setxattr(number, name("user.a"), [1], mode: .create) }
      for text in ["user.a", "user.b"] {
        expect(.exists) {
          try fixture.tree.setxattr(number, name(text), [1], mode: [.create, .replace])
        }
      }
      #expect(try names(fixture.tree, number) == ["user.a", "user.b"])
      #expect(try fixture.tree.getxattr(number, name("user.a")) == [7, 0, 8])
      #expect(try fixture.tree.getxattr(number, name("user.b")) == [])
      try fixture.tree.setxattr(number, name("user.a"), [9], mode: .replace)
      let changed = try fixture.tree.status(of: number)
      // An attribute that is there already changes nothing.
      try fixture.tree.setxattr(number, name("user.a"), [9])
      #expect(try fixture.tree.status(of: number) == changed)
      #expect(changed.ctime > before.ctime && changed.mtime == before.mtime)
      try fixture.tree.removexattr(number, name("user.a"))
      #expect(try names(fixture.tree, number) == ["user.b"])
    }
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("names and values that are not kept are refused")
  func refusals() throws {
    let fixture = try FileFixture(["file": [1]])
    let file = try fixture.number("file")
    let longest = "user." + String(repeating: "n", count: 250)
    let cases: [(name: String, set: FSError?, get: FSError)] = [
      ("trusted.x", .notSupported, .notSupported),
      ("security.capability", .notSupported, .noData),
      ("system.nfs4_acl", .notSupported, .notSupported),
      ("user.", .invalid, .invalid), ("user", .notSupported, .notSupported),
      ("user.llvs.key", .notPermitted, .noData),
      (longest, nil, .noData), (longest + "n", .outOfRange, .noData),
    ]
    for (text, set, get) in cases {
      if text != "user.llvs.key" {
        expect(get) { try fixture.tree.getxattr(file, name(text)) }
      }
      guard let set else { continue }
      expect(set) { try fixture.tree.setxattr(file, name(text), [1]) }
      expect(set) { try fixture.tree.removexattr(file, name(text)) }
    }
    expect(.tooBig) {
      try fixture.tree.setxattr(file, name("user.x"), [UInt8](repeating: 0, count: 65_537))
    }
    for (index, fits) in [true, true, false].enumerated() {
      let set = {
        try fixture.tree.setxattr(
          file, name("user.\(index)"), [UInt8](repeating: 0, count: 60_000))
      }
      if fits { try set() } else { expect(.noSpace, set) }
    }
    #expect(try names(fixture.tree, file) == ["user.0", "user.1"])
    expect(.stale) { try fixture.tree.setxattr(InodeNumber(1 << 39), name("user.x"), [1]) }
    expect(.stale) { try fixture.tree.getxattr(InodeNumber(1 << 39), name("user.x")) }
    try fixture.check()
  }

  @Test("only files and directories have attributes of users")
  func kinds() throws {
    let fixture = try FileFixture()
    let caller = Caller(uid: 1000, gid: 1000)
    let pipe = try fixture.tree.makeNode(
      .root, FileName(name("pipe")), kind: .fifo, mode: 0o600, caller: caller)
    let link = try fixture.tree.makeSymlink(
      .root, FileName(name("link")), target: [1], caller: caller)
    for number in [pipe.number, link.number] {
      expect(.notPermitted) { try fixture.tree.setxattr(number, name("user.x"), [1]) }
      expect(.noData) { try fixture.tree.getxattr(number, name("user.x")) }
    }
    try fixture.check()
  }

  @Test("long ones that are recorded stay in the map when other things change")
  func long() throws {
    let fixture = try FileFixture(["file": [1], "d/x": [2]])
    try fixture.give([
      "file": Attributes(extended: [Self.long]), "d": Attributes(extended: [Self.long]),
    ])
    for file in ["file", "d"] {
      let number = try fixture.number(file)
      var change = StatusChange()
      change.mode = 0o700
      for round in 0..<2 {
        #expect(try fixture.tree.getxattr(number, Self.long.name) == Self.long.value)
        #expect(try names(fixture.tree, number) == ["user.long"])
        expect(.noData) { try fixture.tree.getxattr(number, name("user.x")) }
        expect(.exists) { try fixture.tree.setxattr(number, Self.long.name, [], mode: .create) }
        guard round == 0 else { continue }
        _ = try fixture.tree.setattr(number, change)
        #expect(try fixture.node(number).lacksExtended)
        #expect(try fixture.node(number).attributes.extended == [])
      }
    }
    try fixture.check()
  }

  @Test("a short one beside a long one is pending with it")
  func beside() throws {
    let fixture = try FileFixture(["file": [1]])
    try fixture.give(["file": Attributes(extended: [Self.long])])
    let number = try fixture.number("file")
    try fixture.tree.setxattr(number, name("user.x"), [1])
    #expect(try !fixture.node(number).lacksExtended)
    #expect(
      try fixture.node(number).attributes.extended.map(\.name) == [Self.long.name, name("user.x")])
    try fixture.tree.removexattr(number, Self.long.name)
    #expect(try names(fixture.tree, number) == ["user.x"])
    try fixture.check()
  }

  @Test("a file that waits for its version has the long ones of what its writer had seen")
  func older() throws {
    let fixture = try FileFixture(["file": [1], "gone": [2]])
    try fixture.give([
      "file": Attributes(extended: [Self.long]), "gone": Attributes(extended: [Self.long]),
    ])
    let version = fixture.head.number.rawValue
    fixture.tree.state { $0.epochs[$0.overlay.epoch] = version }
    var written: [InodeNumber] = []
    for file in ["file", "gone"] {
      let number = try fixture.number(file)
      let handle = try fixture.tree.open(number, mode: .write).handle
      try fixture.write(handle, "new")
      try fixture.tree.flush(handle)
      written.append(number)
    }
    try fixture.give(["file": Attributes(mode: 0o600)])
    let next = fixture.head.number.rawValue
    fixture.tree.state { $0.epochs[$0.overlay.epoch] = next }
    try fixture.follow(["gone": nil])
    for number in written {
      #expect(try fixture.node(number).lacksExtended)
      #expect(try fixture.tree.getxattr(number, Self.long.name) == Self.long.value)
    }
  }

  @Test("what cannot be read of one head is read of the next, and without that is an error")
  func raced() throws {
    let fixture = try FileFixture(["file": [1]])
    try fixture.give(["file": Attributes(extended: [Self.long])])
    let number = try fixture.number("file")
    fixture.observed.beforeRead { () throws(FSError) in throw .store(.corrupt("the map")) }
    expect(.store(.corrupt("the map"))) { try fixture.tree.getxattr(number, Self.long.name) }
    let other = Attributes.Extended(
      name: Self.long.name, value: [UInt8](repeating: 0x6D, count: 600))
    fixture.observed.beforeRead { () throws(FSError) in
      do { try fixture.give(["file": Attributes(extended: [other])]) } catch { throw .io }
      throw .store(.corrupt("the map"))
    }
    #expect(try fixture.tree.getxattr(number, Self.long.name) == other.value)
  }

  @Test("what the journal refuses leaves attributes as they were")
  func refused() throws {
    let fixture = try FileFixture(["file": [1]])
    let number = try fixture.number("file")
    try fixture.tree.setxattr(number, name("user.x"), [1])
    let before = fixture.overlay
    let journal = try #require(fixture.journal as? MemoryJournal)
    journal.refuse(with: .noSpace("the disk is full"))
    expect(.store(.noSpace("the disk is full"))) {
      try fixture.tree.setxattr(number, name("user.x"), [2])
    }
    expect(.store(.noSpace("the disk is full"))) {
      try fixture.tree.removexattr(number, name("user.x"))
    }
    #expect(fixture.overlay == before)
  }
}
