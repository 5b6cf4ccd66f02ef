import FileTree
import LLVS
import TestSupport
import Testing

@Suite("conflicts", .timeLimit(.minutes(1)))
struct ConflictFilesTests {
  /// A tree that merged another line in which the same values were changed, or removed.
  private func clashed(_ names: [String], removed: [String] = []) throws -> HiddenWorkspace {
    let space = try HiddenWorkspace()
    for name in names + removed { try space.write(name, "base\n") }
    try space.commit()
    try space.space.run("branch other")
    for name in names + removed { try space.write(name, "other\n") }
    try space.commit()
    try space.space.run("switch -")
    for name in names { try space.write(name, "this\n") }
    for name in removed { try space.space.remove(name) }
    try space.commit()
    try space.space.run("merge other using ours")
    return space
  }

  @Test("what clashed is plain files, and rmdir settles")
  func files() throws {
    let space = try clashed(["a", "d/e/f", "d/base"], removed: ["gone"])
    #expect(try space.names("conflicts") == ["a", "d", "gone"])
    #expect(try space.names("conflicts/a") == ["base", "ours", "theirs"])
    #expect(try space.names("conflicts/gone") == ["base", "theirs"])
    #expect(try space.names("conflicts/d") == ["%llvs%base", "e"])
    #expect(try space.read("conflicts/a/base") == "base\n")
    #expect(try space.read("conflicts/a/ours") == "this\n")
    #expect(try space.read("conflicts/a/theirs") == "other\n")
    #expect(try space.read("conflicts/d/%llvs%base/theirs") == "other\n")
    let subdirectory = try space.directory("d")
    #expect(try space.names("conflicts", from: subdirectory) == ["%llvs%base", "e"])
    #expect(try space.read("conflicts/e/f/theirs", from: subdirectory) == "other\n")
    #expect(space.failure("conflicts/a/theirs.2").map { "\($0)" } == "noEntry")
    #expect(space.failure("conflicts/nothing").map { "\($0)" } == "noEntry")
    let inode = try space.find("conflicts/a/ours").status.inode
    #expect(fault { _ = try space.hidden.open(inode, writing: true) } == "readOnly")
    // As rm -r does.
    for name in try space.names("conflicts/a") { try space.unlink(name, in: "conflicts/a") }
    let top = try space.find("conflicts").status.inode
    try space.hidden.removeDirectory(top, Array("a".utf8))
    #expect(try space.names("conflicts") == ["d", "gone"])
    #expect(fault { try space.hidden.removeDirectory(top, Array("d".utf8)) } == "notEmpty")
    let below = try space.find("conflicts/d").status.inode
    let deep = try space.find("conflicts/d/e").status.inode
    try space.hidden.removeDirectory(deep, Array("f".utf8))
    try space.hidden.removeDirectory(below, Array("e".utf8))
    try space.hidden.removeDirectory(below, Array("%llvs%base".utf8))
    try space.hidden.removeDirectory(top, Array("d".utf8))
    #expect(try space.names("conflicts") == ["gone"])
    try space.space.run("settle gone theirs")
    #expect(try space.names("conflicts").isEmpty)
    #expect(try space.space.read("gone") == "other\n")
    #expect(try space.space.read("a") == "this\n")
    let hidden = try space.find("").status.inode
    #expect(
      fault { try space.hidden.removeDirectory(hidden, Array("conflicts".utf8)) } == "notPermitted")
  }

  @Test("writing the file settles at its next version")
  func written() throws {
    let space = try clashed(["a"])
    func state() throws -> String {
      let inode = try space.tree.lookup(LiveTree.rootInode, Array("a".utf8)).inode
      return String(
        decoding: try space.tree.getxattr(inode, Array("user.llvs.state".utf8)), as: UTF8.self)
    }
    #expect(try state() == "conflict")
    try space.write("a", try space.read("conflicts/a/theirs"))
    #expect(try space.names("conflicts") == ["a"])
    try space.commit()
    #expect(try space.names("conflicts").isEmpty)
    #expect(try state() == "committed")
  }
}
