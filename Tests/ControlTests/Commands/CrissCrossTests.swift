import Grammar
import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import Control
@testable import TreeSupport

/// Three machines that exchange in pairs and merge the same changes in different orders (docs/merging.md, M8).
@Suite("Changes after criss-cross merges", .timeLimit(.minutes(2)))
struct CrissCrossTests {
  private let a: ControlWorkspace
  private let b: ControlWorkspace
  private let c: ControlWorkspace

  private static func text(_ lines: [Int: String]) -> String {
    (1...30).map { "\($0)\(lines[$0] ?? "")\n" }.joined()
  }

  /// Makes two machines with what three have changed, each merged in another order.
  init() throws {
    let spaces = try (0..<3).map { _ in try ControlWorkspace() }
    (a, b, c) = (spaces[0], spaces[1], spaces[2])
    let pairs = ["ab": [0, 1], "ac": [0, 2], "bc": [1, 2]]
    for (name, members) in pairs {
      let folder = a.directory.file(name)
      try FileSystem.makeDirectory(folder)
      for index in members { try spaces[index].service.setPeer(name, address: Array(folder.utf8)) }
    }
    try a.write("list", Self.text([:]))
    try a.run("sync")
    try spaces[1].run("sync")
    try spaces[2].run("sync")
    for (index, space) in spaces.enumerated() {
      try space.write("list", Self.text([3 + 9 * index: " \(index)"]))
      try space.run("commit")
      try space.run("send")
    }
    try a.run("sync ac")
    try b.run("sync ab")
    try b.run("sync bc")
    try a.run("sync ab")
    let merged = Self.text([3: " 0", 12: " 1", 21: " 2"])
    #expect(try a.read("list") == merged)
    #expect(try b.read("list") == merged)
    // Neither merges the other's merge: it contains nothing new.
    #expect(try a.head != b.head)
  }

  /// Lets one machine send its change to the other, which has a change of another file.
  private func exchange() throws {
    try a.run("sync ab")
    try b.write("other", "b")
    try b.run("sync ab")
    #expect(try b.service.openConflicts().isEmpty)
  }

  @Test("a removal by one side removes")
  func removal() throws {
    try a.remove("list")
    try exchange()
    #expect(try b.read("list") == nil)
  }

  @Test("a mode that one side set is set")
  func mode() throws {
    func status(_ space: ControlWorkspace) throws -> NodeStatus {
      try space.tree.lookup(TreeSession.rootInode, Array("list".utf8))
    }
    var change = StatusChange()
    change.mode = 0o600
    _ = try a.tree.setattr(try status(a).node, change)
    try exchange()
    #expect(try status(b).mode & 0o777 == 0o600)
  }

  @Test("a file that one side renamed has its new name alone")
  func rename() throws {
    let before = try b.read("list")
    let root = TreeSession.rootInode
    try a.tree.rename(root, Array("list".utf8), root, Array("list2".utf8))
    try exchange()
    #expect(try b.read("list") == nil)
    #expect(try b.read("list2") == before)
  }

  @Test("lines that one side changed are changed")
  func edit() throws {
    let merged = [3: " 0", 12: " 1", 21: " 2"]
    try a.write("list", Self.text(merged.merging([1: " a"]) { $1 }))
    try exchange()
    #expect(try b.read("list") == Self.text(merged.merging([1: " a"]) { $1 }))
  }

  @Test("different lines that both sides changed are merged")
  func edits() throws {
    let merged = [3: " 0", 12: " 1", 21: " 2"]
    try a.write("list", Self.text(merged.merging([1: " a"]) { $1 }))
    try b.write("list", Self.text(merged.merging([30: " b"]) { $1 }))
    try exchange()
    #expect(try b.read("list") == Self.text(merged.merging([1: " a", 30: " b"]) { $1 }))
  }

  @Test(
    "lines of three machines that exchange in any order all stay",
    arguments: 1...4 as ClosedRange<UInt64>)
  func lines(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let spaces = [a, b, c]
    let names = [["ab", "ac"], ["ab", "bc"], ["ac", "bc"]]
    var lines = [3: " 0", 12: " 1", 21: " 2"]
    for round in 0..<40 {
      let index = Int.random(in: 0..<3, using: &random)
      let text = try #require(try spaces[index].read("list"))
      var shown = text.split(separator: "\n").map(String.init)
      // Each machine changes lines of its own, with a line between those of two.
      let line = 1 + 10 * index + Int.random(in: 0..<8, using: &random)
      lines[line] = " \(round)"
      shown[line - 1] = "\(line) \(round)"
      try spaces[index].write("list", shown.map { $0 + "\n" }.joined())
      let peer = names[index].randomElement(using: &random) ?? ""
      try spaces[index].run(Bool.random(using: &random) ? "sync" : "sync \(peer)")
    }
    for _ in 0..<3 { for space in spaces { try space.run("sync") } }
    for space in spaces {
      #expect(try space.read("list") == Self.text(lines), "seed \(seed)")
      #expect(try space.service.openConflicts().isEmpty, "seed \(seed)")
    }
  }
}
