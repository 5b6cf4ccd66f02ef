import FileTree
import LLVS
import TestSupport
import Testing

/// Hard links in the tree as data, under heads that others made.
@Suite(.timeLimit(.minutes(2)))
struct LinkTests {
  let mount: MountedTree
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    mount = try MountedTree.unhurried(directory.path)
    try mount.makeDirectory("d")
    try mount.save("x", "old")
    try mount.link("x", "d/y")
    try mount.cut()
  }

  /// Cuts, and merges in what another replica made of the head in one transition.
  private func merge(_ changes: [(String, String)]) throws {
    let head = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
    let made = try mount.store.makeVersion(
      basedOnPredecessor: head.id,
      storing: changes.map { .update(Value(id: Value.ID($0.0), data: Array($0.1.utf8))) })
    let other = try #require(try mount.store.version(made.id)).number
    _ = try mount.versioner.transition(.command, reasonText: "merge") {
      (transaction, head) throws(StoreError) in
      try transaction.mergeSides([head ?? other, other], live: head).outcome
    }
  }

  private func numbers(_ paths: String...) throws -> [UInt64] { try paths.map(mount.inode) }

  @Test("a name that others changed alone parts from the rest, one made meanwhile too")
  func parts() throws {
    try mount.link("x", "third")
    try merge([("x", "theirs")])
    #expect(
      mount.text("x") == "theirs" && mount.text("d/y") == "old" && mount.text("third") == "old")
    let found = try numbers("x", "d/y", "third")
    #expect(found[0] != found[1] && found[1] == found[2])
    #expect(try mount.status("x").links == 1 && mount.status("third").links == 2)
    try mount.save("third", "here")
    try mount.cut()
    #expect(mount.text("x") == "theirs" && mount.text("d/y") == "here")
    #expect(try mount.head()["d/y"] == "here" && mount.head()["x"] == "theirs")
  }

  @Test("names that others changed alike stay one file, and those who had it open keep the old one")
  func together() throws {
    let handle = try mount.open("x", .read)
    let inode = handle.inode
    try merge([("x", "theirs"), ("d/y", "theirs")])
    #expect(mount.text("x") == "theirs" && mount.text("d/y") == "theirs")
    #expect(try mount.bytes(ofInode: inode) == Array("old".utf8))
    let found = try numbers("x", "d/y")
    #expect(found[0] == found[1] && found[0] != inode)
    #expect(try mount.status("x").links == 2)
    try mount.close(handle)
    try mount.save("x", "here")
    try mount.cut()
    #expect(try mount.head()["d/y"] == "here")
  }

  @Test("a file that nobody remembers has all its names again, also where a directory was renamed")
  func remembered() throws {
    #expect(try mount.status("d/y").links == 2)
    try mount.rename("d", "e")
    #expect(try mount.status("x").links == 2)
    try mount.save("x", "new")
    #expect(mount.text("e/y") == "new")
    try mount.cut()
    #expect(try mount.head() == ["x": "new", "e/": "", "e/y": "new"])
    try mount.unlink("x")
    #expect(try mount.status("e/y").links == 1)
    try mount.cut()
    #expect(try mount.head() == ["e/": "", "e/y": "new"])
  }

  @Test("a name that no version takes stays beside those that are in one")
  func scratch() throws {
    try mount.link("x", "x~")
    try mount.save("new~", "made here")
    try mount.link("new~", "new")
    for text in ["old", "changed", "again"] {
      if text != "old" { try mount.save("x", text) }
      try mount.cut()
      #expect(try mount.names() == ["d", "x", "x~", "new", "new~"])
      #expect(try mount.status("x").links == 3 && mount.status("new").links == 2)
      #expect(mount.text("x~") == text && mount.text("new~") == "made here")
      #expect(try mount.inode("x") == mount.inode("x~"))
      #expect(
        try mount.head() == ["x": text, "d/": "", "d/y": text, "new": "made here"])
    }
    try mount.unlink("x")
    try mount.unlink("d/y")
    try mount.unlink("new")
    try mount.cut()
    #expect(mount.text("x~") == "again" && mount.text("new~") == "made here")
    try mount.rename("x~", "back")
    try mount.cut()
    #expect(try mount.head() == ["d/": "", "back": "again"])
  }

  @Test("a directory is not linked, nor a file over a name, nor one without a name")
  func refused() throws {
    #expect(throws: FSError.self) { try mount.link("d", "n") }
    #expect(throws: FSError.self) { try mount.link("x", "d/y") }
    let handle = try mount.open("x", .read)
    try mount.unlink("x")
    try mount.unlink("d/y")
    #expect(throws: FSError.self) {
      _ = try mount.tree.link(handle.inode, LiveTree.rootInode, Array("n".utf8))
    }
    #expect(try mount.names() == ["d"])
    try mount.close(handle)
  }
}
