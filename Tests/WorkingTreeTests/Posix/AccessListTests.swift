import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Access control lists, over a recorded tree of a real store.
@Suite("Access control lists", .timeLimit(.minutes(2)))
struct AccessListTests {
  private let access = ExtendedName.accessACL
  private let inherited = ExtendedName.defaultACL

  /// The entries of a list: the tag, the permissions, and who is meant.
  private typealias Item = (tag: UInt8, permissions: UInt8, id: UInt32)
  private static let nobody = UInt32.max

  private func list(_ items: [Item]) -> [UInt8] {
    var bytes: [UInt8] = [2, 0, 0, 0]
    for item in items {
      bytes += [item.tag, 0, item.permissions, 0]
      for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: item.id >> shift)) }
    }
    return bytes
  }

  /// A list in which a user has a right of his own.
  private func named(owner: UInt8 = 6, mask: UInt8 = 5, other: UInt8 = 4) -> [UInt8] {
    list([
      (1, owner, Self.nobody), (2, 7, 77), (4, 4, Self.nobody), (16, mask, Self.nobody),
      (32, other, Self.nobody),
    ])
  }

  private func name(_ text: String) -> FileName { FileName(Array(text.utf8)) }

  @Test("a list and the mode follow each other", arguments: JournalKind.allCases)
  func follows(kind: JournalKind) throws {
    let fixture = try FileFixture(["file": [1], "d/x": [2]], over: kind)
    for file in ["file", "d"] {
      let number = try fixture.number(file)
      try fixture.tree.removexattr(number, access)
      expect(.noData) { try fixture.tree.getxattr(number, access) }
      try fixture.tree.setxattr(number, access, named())
      #expect(try fixture.tree.status(of: number).mode == 0o654)
      #expect(try fixture.tree.getxattr(number, access) == named())
      var change = StatusChange()
      change.mode = 0o1720
      #expect(try fixture.tree.setattr(number, change).mode == 0o1720)
      #expect(
        try fixture.tree.getxattr(number, access) == named(owner: 7, mask: 2, other: 0))
      // A list that says no more than a mode is none.
      let plain = list([(1, 6, Self.nobody), (4, 4, Self.nobody), (32, 0, Self.nobody)])
      try fixture.tree.setxattr(number, access, plain)
      #expect(try fixture.tree.status(of: number).mode == 0o1640)
      expect(.noData) { try fixture.tree.getxattr(number, access) }
      try fixture.tree.setxattr(number, access, named())
      try fixture.tree.setxattr(number, access, [2, 0, 0, 0])
      expect(.noData) { try fixture.tree.getxattr(number, access) }
    }
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test("lists are refused where they are none, or not for such a file")
  func refusals() throws {
    let fixture = try FileFixture(["file": [1]])
    let file = try fixture.number("file")
    let link = try fixture.tree.makeSymlink(
      .root, name("link"), target: [1], caller: Caller(uid: 1000, gid: 1000)
    ).number
    let before = fixture.overlay
    for bytes in [[], [1], [2, 0, 0, 0, 1], list([(1, 6, Self.nobody)])] {
      expect(.invalid) { try fixture.tree.setxattr(file, access, bytes) }
    }
    expect(.accessDenied) { try fixture.tree.setxattr(file, inherited, named()) }
    expect(.notSupported) { try fixture.tree.setxattr(link, access, named()) }
    expect(.noData) { try fixture.tree.getxattr(link, access) }
    #expect(fixture.overlay == before)
  }

  @Test("a list takes the set-group-ID bit from who is no member of the group")
  func setGroupID() throws {
    let fixture = try FileFixture(["file": [1]])
    let file = try fixture.number("file")
    var change = StatusChange()
    change.mode = 0o2755
    _ = try fixture.tree.setattr(file, change)
    try fixture.tree.setxattr(file, access, named(), lostSetIDs: 0)
    #expect(try fixture.tree.status(of: file).mode == 0o2654)
    try fixture.tree.setxattr(file, access, named(mask: 4), lostSetIDs: 0o2000)
    #expect(try fixture.tree.status(of: file).mode == 0o644)
    try fixture.check()
  }

  @Test("what is made in a directory inherits its default list, whatever the umask")
  func inheritance() throws {
    let fixture = try FileFixture(["d/x": [1]])
    let directory = try fixture.number("d")
    try fixture.tree.setxattr(directory, inherited, named(owner: 7, mask: 6, other: 1))
    #expect(try fixture.tree.status(of: directory).mode == 0o755)
    let caller = Caller(uid: 1000, gid: 1000, umask: 0o077)
    let file = try fixture.tree.create(
      directory, name("f"), mode: 0o664, open: .write, caller: caller
    ).status
    #expect(file.mode == 0o660)
    #expect(
      try fixture.tree.getxattr(file.number, access) == named(owner: 6, mask: 6, other: 0))
    expect(.noData) { try fixture.tree.getxattr(file.number, inherited) }
    let below = try fixture.tree.makeDirectory(directory, name("e"), mode: 0o777, caller: caller)
    #expect(below.mode == 0o761)
    #expect(
      try fixture.tree.getxattr(below.number, inherited) == named(owner: 7, mask: 6, other: 1))
    let link = try fixture.tree.makeSymlink(directory, name("l"), target: [1], caller: caller)
    #expect(link.mode == 0o777)
    try fixture.tree.removexattr(directory, inherited)
    let plain = try fixture.tree.makeDirectory(directory, name("g"), mode: 0o777, caller: caller)
    #expect(plain.mode == 0o700)
    try fixture.check()
  }

  @Test("a list beside long attributes that only the map has changes without them")
  func besideLong() throws {
    let fixture = try FileFixture(["file": [1]])
    try fixture.give(["file": Attributes(extended: [ExtendedTests.long])])
    let file = try fixture.number("file")
    try fixture.tree.setxattr(file, access, named())
    #expect(try fixture.node(file).lacksExtended)
    #expect(try fixture.tree.getxattr(file, access) == named())
    #expect(try fixture.tree.getxattr(file, ExtendedTests.long.name) == ExtendedTests.long.value)
    let names = access + [0] + ExtendedTests.long.name + [0]
    #expect(try fixture.tree.listxattr(file) == names)
    try fixture.tree.removexattr(file, access)
    #expect(try fixture.node(file).lacksExtended)
    #expect(try fixture.tree.listxattr(file) == ExtendedTests.long.name + [0])
    try fixture.check()
  }
}
