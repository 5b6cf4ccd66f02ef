import Foundation
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// A file lives on for a handle after a merge gave its name to another, and both are saved.
extension StaleWriterTests {
  /// All that `f` ever was, by the versions that the store has.
  private func revisions(in mount: MountedTree) throws -> Set<String> {
    var found: Set<String> = []
    for number in 1...mount.store.lastNumber {
      guard let record = try mount.store.version(VersionNumber(number)) else { continue }
      if let text = try mount.version(record)["f"] { found.insert(text) }
    }
    return found
  }

  /// The head goes on with the same values as an older version, as `undo` and `restore` make it.
  private func restore(_ older: VersionNumber) throws {
    _ = try mount.tree.transition(.command, headReason: .other("restore")) {
      (transaction, head) throws(StoreError) in
      guard let head, let record = try transaction.version(head),
        let wanted = try transaction.version(older)
      else { return head }
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head,
          base: mount.store.map(record.map), map: mount.store.map(wanted.map), line: nil,
          author: nil, message: nil)
      ).number
    }
  }

  @Test("It and who saves under the name come together in one cut", arguments: [false, true])
  func savedBeside(isFirst: Bool) throws {
    let handle = try open("f", [.read, .write], by: 0)
    try retrieve(Self.there)
    func saveName() throws {
      try fill(
        try open("f", .write, by: 0), Self.there.replacingOccurrences(of: "three", with: "THREE"))
    }
    if isFirst { try saveName() }
    try mount.write(handle, Array(Self.here.utf8))
    try mount.tree.flush(handle)
    if !isFirst { try saveName() }
    try mount.cut()
    let all = Self.both.replacingOccurrences(of: "three", with: "THREE")
    #expect(mount.text("f") == all)
    #expect(try mount.head() == ["f": all, "g": "g"])
    // Each goes on from its own save.
    try mount.write(handle, Array(Self.here.replacingOccurrences(of: "one", with: "ONE").utf8))
    try mount.close(handle)
    try fill(try open("f", .write, by: 0), all.replacingOccurrences(of: "THREE", with: "Three"))
    try mount.cut()
    let more = all.replacingOccurrences(of: "one", with: "ONE").replacingOccurrences(
      of: "THREE", with: "Three")
    #expect(mount.text("f") == more)
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("Whoever takes back under the name what the merge brought has taken it back")
  func takenBack() throws {
    let handle = try open("f", .read, by: 0)
    try retrieve(Self.there)
    try fill(try open("f", [.write, .truncate], by: 0), Self.base)
    let outcome = try mount.cut()
    #expect(outcome.head?.second == nil)
    #expect(mount.text("f") == Self.base)
    #expect(try mount.head()["f"] == Self.base)
    try mount.close(handle)
  }

  @Test("Both of one process, which had seen one version, are in versions, and the clash is listed")
  func oneProcess() throws {
    let older = try #require(try mount.store.state().head)
    try mount.save("f", Self.here)
    try mount.cut()
    let handle = try open("f", [.read, .write], by: editor)
    try restore(older)
    #expect(mount.text("f") == Self.base)
    _ = try mount.tree.resize(handle.inode, to: 0, through: handle)
    try fill(handle, "one by the handle\n")
    try fill(try open("f", [.write, .truncate], by: editor), "one by the name\n")
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, to: copy.file("s"))
    for mount in [mount, try MountedTree(copy.path)] {
      #expect(mount.text("f") == "one by the name\n")
      try mount.cut()
      #expect(
        try revisions(in: mount).isSuperset(of: ["one by the handle\n", "one by the name\n"]))
      #expect(try !mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
      #expect(try mount.head()["f"] == mount.text("f"))
      #expect(try mount.tree.fault() == nil)
    }
  }

  @Test(
    "So it is where the name was removed and is made again, in either order",
    arguments: [false, true])
  func oneProcessMakes(isFirst: Bool) throws {
    let older = try #require(try mount.store.state().head)
    try mount.save("new", "new")
    try mount.cut()
    let handle = try open("new", [.read, .write], by: editor)
    try restore(older)
    #expect(mount.text("new") == nil)
    if isFirst { try fill(try create("new", by: editor), "by the name") }
    try fill(handle, "by the handle")
    if !isFirst { try fill(try create("new", by: editor), "by the name") }
    #expect(mount.text("new") == "by the name")
    try mount.cut()
    var found: Set<String?> = []
    for number in 1...mount.store.lastNumber {
      found.insert(try mount.version(mount.store.version(VersionNumber(number)))["new"])
    }
    #expect(found.isSuperset(of: ["by the handle", "by the name"]))
    #expect(try !mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
    #expect(try mount.head()["new"] == mount.text("new"))
  }

  @Test("Handles of three merges each save on what they had seen")
  func threeDeep() throws {
    let first = try open("f", [.read, .write], by: 0)
    try retrieve(Self.there)
    let second = try open("f", [.read, .write], by: 0)
    let third = "one\ntwo\nthree there\nfour there\n"
    try retrieve(third)
    try mount.write(first, Array(Self.here.utf8))
    try mount.tree.flush(first)
    try mount.write(second, Array("one\ntwo\nthree\nfour there\nfive\n".utf8))
    try mount.tree.flush(second)
    try fill(
      try open("f", .write, by: 0), third.replacingOccurrences(of: "two", with: "TWO"))
    try mount.cut()
    #expect(
      try revisions(in: mount).isSuperset(of: [
        Self.here, "one\ntwo\nthree\nfour there\nfive\n",
        third.replacingOccurrences(of: "two", with: "TWO"),
      ]))
    #expect(try mount.head()["f"] == mount.text("f"))
    try mount.close(first)
    try mount.close(second)
  }

  @Test("A file whose name was removed here does not come back by a later save, over versions too")
  func removedHere() throws {
    let handle = try open("f", [.read, .write], by: 0)
    try retrieve(Self.there)
    try mount.unlink("f")
    try mount.cut()
    try fill(handle, Self.here)
    try mount.cut()
    #expect(try mount.head() == ["g": "g"])
    #expect(try mount.names() == ["g"])
  }

  @Test("A name that comes back shows what the head holds, whatever lives on for handles")
  func comesBack() throws {
    let without = try #require(try mount.store.state().head)
    try mount.save("new", "349")
    try mount.cut()
    let first = try open("new", [.read, .write], by: 0)
    func save(_ handle: LiveHandle, _ text: String) throws {
      try mount.write(handle, Array(text.utf8))
      try mount.tree.flush(handle)
    }
    try restore(without)
    let gone = try #require(try mount.store.state().head)
    try save(first, "133")
    let back = try #require(try mount.cut().head?.number)
    try save(first, "999")
    try mount.cut()
    #expect(mount.text("new") == "999")
    let second = try open("new", [.read, .write], by: 0)
    _ = try mount.tree.transition(.command, headReason: .other("switch")) { _, _ in gone }
    #expect(mount.text("new") == nil)
    try save(second, "889")
    try mount.cut()
    try save(second, "931")
    try restore(back)
    #expect(try mount.head()["new"] == "133")
    #expect(mount.text("new") == "133")
    #expect(try mount.tree.fault() == nil)
    try mount.close(first)
    try mount.close(second)
    #expect(mount.text("new") == "133")
  }
}
