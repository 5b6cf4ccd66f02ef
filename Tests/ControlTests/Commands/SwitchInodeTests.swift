import LLVSCore
import TestSupport
import Testing
import WorkingTree

@testable import TreeSupport

@Suite("Switches across renames", .timeLimit(.minutes(1)))
struct SwitchInodeTests {
  @Test(
    "a name that a switch brings back is another file than the one that is open under its new name")
  func renamed() throws {
    let space = try ControlWorkspace()
    let root = TreeSession.rootInode
    try space.write("a", "one")
    try space.run("commit")
    let first = try #require(try space.head)
    try space.tree.rename(root, Array("a".utf8), root, Array("b".utf8), mode: .replacing)
    try space.run("commit")
    let status = try space.tree.lookup(root, Array("b".utf8))
    let open = try space.tree.open(status.node, mode: .read)
    try space.run("switch \(first) as old")
    #expect(try space.read("b") == nil)
    #expect(try space.read("a") == "one")
    let back = try space.tree.lookup(root, Array("a".utf8))
    #expect(back.inode != status.inode)
    #expect(back.links == 1)
    try space.tree.release(open)
    #expect(try space.read("a") == "one")
    try space.write("a", "two")
    try space.run("commit")
    #expect(try space.read("a") == "two")
    try space.run("undo")
    #expect(try space.read("a") == "one")
  }
}
