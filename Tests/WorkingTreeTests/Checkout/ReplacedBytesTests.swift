import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeNames
@testable import TreeSupport
@testable import WorkingTree

/// Other bytes at a name are another node for the kernel, and the same inode for people unless
/// somebody has it open: docs/writes.md, rule 9.
@Suite(.timeLimit(.minutes(1)))
struct ReplacedBytesTests {
  let mount: MountedTree
  let directory: TemporaryDirectory
  static let root = TreeSession.rootInode
  static let name = Array("f".utf8)

  init() throws {
    directory = try TemporaryDirectory()
    mount = try MountedTree(directory.path)
    try mount.save("f", "before")
    try mount.cut()
  }

  /// Another replica's bytes come in.
  private func merge(_ text: String) throws {
    let head = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
    let made = try mount.store.makeVersion(
      basedOnPredecessor: head.id,
      storing: [.update(Value(id: Value.ID("f"), data: Array(text.utf8)))])
    let number = try #require(try mount.store.version(made.id)).number
    _ = try mount.tree.transition(.command, headReason: .merge) { _, _ in number }
  }

  /// The names of the extended attributes that the head has of a file.
  private func extendedInHead(_ path: String) throws -> [[UInt8]] {
    let head = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
    let entry = try #require(try mount.store.map(head.map).entry(at: Key(path)))
    return entry.attributes.extended.map(\.name)
  }

  private func lookup() throws -> NodeStatus { try mount.tree.lookup(Self.root, Self.name) }

  private func text(_ node: UInt64) throws -> String {
    String(decoding: try mount.bytes(ofInode: node), as: UTF8.self)
  }

  @Test("What the kernel knows keeps its bytes under its number; the name has another")
  func known() throws {
    let before = try lookup()
    try merge("after, and longer")
    let after = try lookup()
    #expect(after.inode != before.inode)
    #expect(after.node != before.node)
    #expect(try text(before.node) == "before")
    #expect(try text(after.node) == "after, and longer")
    let old = try mount.tree.getattr(before.node)
    #expect(old.size == 6 && old.links == 0 && old.inode != after.inode)
    #expect(after.links == 1)
    mount.tree.forget(before.node, count: 1)
    mount.tree.forget(after.node, count: 1)
    #expect(mount.tree.isForgotten)
    let again = try lookup()
    #expect(again.inode == after.inode)
  }

  @Test("A number is not given again while the kernel knows what it stood for")
  func ownNumbers() throws {
    var numbers: Set<UInt64> = []
    for round in 0..<5 {
      let status = try lookup()
      #expect(numbers.insert(status.node).inserted)
      if round % 2 == 0 { mount.tree.forget(status.node, count: 1) }
      if round % 2 == 0 { numbers.remove(status.node) }
      try merge("round \(round)")
    }
    #expect(mount.text("f") == "round 4")
    for node in numbers { mount.tree.forget(node, count: 1) }
    #expect(mount.tree.isForgotten)
  }

  @Test("A file that bears another number than its version's goes with a version that has none")
  func renumberedAndRemoved() throws {
    let handle = try mount.open("f", .read)
    try merge("theirs")
    let node = try lookup()
    let head = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
    let made = try mount.store.makeVersion(
      basedOnPredecessor: head.id, storing: [.remove(Value.ID("f"))])
    let number = try #require(try mount.store.version(made.id)).number
    _ = try mount.tree.transition(.command, headReason: .other("switch")) { _, _ in number }
    #expect(try mount.tree.fault() == nil)
    #expect(throws: FSError.self) { try lookup() }
    #expect(try mount.tree.getattr(node.node).links == 0)
    try mount.close(handle)
    mount.forget(node.node)
  }

  @Test("Bytes that nobody knows are replaced where they stand")
  func unknown() throws {
    let before = try lookup()
    mount.tree.forget(before.node, count: 1)
    try merge("after")
    let after = try lookup()
    #expect(after.inode != before.inode)
  }

  @Test("Who opens what the kernel still finds writes beside the merge, also over a crash")
  func openedLate() throws {
    let before = try lookup()
    try merge("after")
    let handle = try mount.tree.open(before.node, mode: [.write, .truncate])
    try mount.write(handle, Array("late".utf8))
    try mount.close(handle)
    #expect(mount.text("f") == "after")
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, to: copy.file("s"))
    for mount in [mount, try MountedTree(copy.path)] {
      #expect(mount.recovery.losses == [])
      #expect(try mount.cut().head?.second != nil)
      #expect(mount.text("f") == "late")
      #expect(try mount.head()["f"] == "late")
    }
  }

  @Test("A file that a restore removed and a program moved keeps its long attributes")
  func longAttributesOfMoved() throws {
    let first = try mount.store.state().head
    try mount.save("n", "one")
    let long = Array("user.long".utf8)
    try mount.tree.setxattr(
      try mount.inode("n"), long, [UInt8](repeating: 7, count: 600), mode: .either)
    try mount.cut()
    _ = try mount.tree.transition(.command, headReason: .other("restore")) { _, _ in
      #expect(throws: Never.self) { try mount.save("n", "two") }
      return first
    }
    #expect(try mount.tree.getxattr(try mount.inode("n"), long).count == 600)
    try mount.rename("n", "moved")
    // Another file at the name that it had before has its own.
    try mount.save("n", "three")
    #expect(try mount.tree.getxattr(try mount.inode("moved"), long).count == 600)
    try mount.cut()
    #expect(mount.text("moved") == "two")
    #expect(try mount.tree.getxattr(try mount.inode("moved"), long).count == 600)
    #expect(try extendedInHead("moved") == [long])
    #expect(try extendedInHead("n") == [])
    #expect(try mount.tree.fault() == nil)
  }
}
