import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames
import WorkingTree

@testable import TreeSupport

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
    _ = try mount.tree.transition(.command, headReason: .merge) {
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

  /// Puts an earlier version under the tree, as undo and restore do.
  private func goBack(to version: VersionNumber?) throws {
    _ = try mount.tree.transition(.command, headReason: .other("undo")) { _, _ in version }
  }

  private func checkLinked(
    _ text: String, in tree: MountedTree? = nil
  ) throws {
    let mount = tree ?? mount
    let names = ["x", "d/y"]
    let numbers = try names.map { try mount.inode($0) }
    #expect(names.map { mount.text($0) } == [text, text])
    #expect(numbers[0] == numbers[1])
    let counts = try names.map { try mount.status($0).links }
    #expect(counts == [2, 2])
  }

  /// The store as it is on the disk, mounted again.
  private func again(_ body: (MountedTree) throws -> Void) throws {
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, to: copy.file("s"))
    try body(try MountedTree.unhurried(copy.path))
  }

  @Test(
    "a name that was replaced and comes back is a name of its file again",
    arguments: [false, true], [false, true])
  func comesBack(isCut: Bool, isOpen: Bool) throws {
    let first = try mount.store.state().head
    try mount.save("t", "new")
    try mount.rename("t", "x")
    let handle = isOpen ? try mount.open("x", [.read, .write]) : nil
    if isCut { try mount.cut() }
    try goBack(to: first)
    try checkLinked("old")
    if let handle {
      #expect(try mount.bytes(ofInode: handle.inode) == Array("new".utf8))
      try mount.close(handle)
    }
    try mount.save("x", "one file")
    try mount.cut()
    try checkLinked("one file")
    try again { try checkLinked("one file", in: $0) }
  }

  @Test("names that come while the file with their number lives on for its handles are one file")
  func heldMeanwhile() throws {
    try mount.save("d/y", "new")
    try mount.rename("x", "z")
    try mount.cut()
    let wanted = try #require(try mount.store.state().headMap)
    try mount.save("d/y", "old")
    try mount.rename("z", "x")
    try mount.cut()
    let handle = try mount.open("x", .read)
    let mount = mount
    // As restore does: a version on the head with what was before, while one of its names is removed here.
    _ = try mount.tree.transition(.command, headReason: .other("restore")) {
      (transaction, head) throws(StoreError) in
      #expect(throws: Never.self) { try mount.unlink("d/y") }
      guard let head, let now = try transaction.version(head) else { return head }
      return try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: head, base: mount.store.map(now.map),
          map: mount.store.map(wanted))
      ).number
    }
    #expect(try mount.bytes(ofInode: handle.inode) == Array("old".utf8))
    // It is met under another number, as the handle has its own.
    let node = try mount.with("z") { try mount.tree.lookup($0, $1) }
    #expect(mount.text("z") == "new" && node.inode != handle.inode)
    try mount.close(handle)
    try mount.cut()
    // The edit wins over the removal.
    #expect(mount.text("d/y") == "new" && mount.text("z") == "new")
    #expect(try mount.inode("d/y") == mount.inode("z"))
    #expect(try mount.status("z").links == 2)
    #expect(try mount.tree.fault() == nil)
    mount.forget(node.node)
  }

  @Test("names that went apart one by one and come to the same bytes again are one file")
  func oneByOne() throws {
    try merge([("x", "two")])
    let apart = try numbers("x", "d/y")
    #expect(apart[0] != apart[1])
    try merge([("d/y", "three")])
    #expect(try numbers("x", "d/y")[0] == apart[0])
    try merge([("x", "three")])
    try checkLinked("three")
    try again { try checkLinked("three", in: $0) }
  }

  @Test(
    "what is saved through a file that gave way to its former links is in a version, and not in those"
  )
  func savedThroughOld() throws {
    let first = try mount.store.state().head
    try mount.save("t", "new")
    try mount.rename("t", "x")
    try mount.cut()
    let handle = try mount.open("x", [.read, .write])
    try goBack(to: first)
    try checkLinked("old")
    try mount.write(handle, Array("NEW".utf8))
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.head()["d/y"] == "old")
    var found = false
    for record in try mount.store.versions(afterName: nil, limit: .max) {
      if try mount.version(record)["x"] == "NEW" { found = true }
    }
    #expect(found)
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

  @Test("a name that comes to a file which is open is one of it, wherever the daemon is killed")
  func comesWhileOpen() throws {
    let first = try mount.store.state().head
    try mount.unlink("d/y")
    try mount.save("x", "two")
    try mount.cut()
    let handle = try mount.open("x", .read)
    let path = mount.path
    let copies = try TemporaryDirectory()
    nonisolated(unsafe) var (count, isCopying) = (0, false)
    let watch = Faults.watch(below: path + "/journal") { _, _ in
      guard !isCopying, count < 60 else { return }
      isCopying = true
      defer { isCopying = false }
      count += 1
      #expect(throws: Never.self) {
        try FileSystem.makeDirectory(copies.file("\(count)"))
        try copyTree(path, to: copies.file("\(count)/s"))
      }
    }
    try goBack(to: first)
    Faults.unwatch(watch)
    #expect(count < 60)
    try mount.close(handle)
    var shown: Set<String> = []
    for number in 1...max(1, count) {
      let other = try MountedTree.unhurried(copies.file("\(number)"))
      let text = try #require(other.text("x"))
      shown.insert(text)
      guard text == "old" else { continue }
      try checkLinked("old", in: other)
    }
    #expect(shown == ["two", "old"])
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
      #expect(try mount.status("x").links == 3)
      #expect(try mount.status("new").links == 2)
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

  @Test("a file that was edited keeps its number if the directory of its other name was made anew")
  func otherNameGoesWithDirectory() throws {
    let number = try mount.inode("x")
    try mount.save("x", "new")
    try mount.unlink("d/y")
    try mount.removeDirectory("d")
    try mount.makeDirectory("d")
    try mount.save("d/in", "other")
    try mount.cut()
    #expect(try mount.inode("x") == number && mount.text("x") == "new")
    #expect(try mount.status("x").links == 1)
    #expect(try mount.head() == ["d/": "", "d/in": "other", "x": "new"])
    #expect(try mount.tree.fault() == nil)
  }

  @Test("a file keeps its number if it has again what versions keep at the name of an unsaved one")
  func equalToKept() throws {
    let (number, mode) = (try mount.inode("d/y"), try mount.status("d/y").mode & 0o7777)
    let handle = try mount.create("new")
    try mount.rename("new", "x")
    for mode in [0o600, mode] {
      try mount.change("d/y") { $0.mode = mode }
      try mount.cut()
      #expect(try mount.inode("d/y") == number)
      #expect(try mount.tree.fault() == nil)
    }
    #expect(try mount.head() == ["d/": "", "d/y": "old", "x": "old"])
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.inode("d/y") == number)
    #expect(try mount.inode("x") == handle.inode)
  }

  @Test("a file keeps its number if the directory of one name is removed and another has its path")
  func renamedAfterRemoval() throws {
    try mount.makeDirectory("e")
    try mount.save("e/y", "other")
    try mount.cut()
    let number = try mount.inode("x")
    try mount.unlink("d/y")
    try mount.removeDirectory("d")
    try mount.rename("e", "d")
    try mount.rename("x", "z")
    try mount.cut()
    #expect(try mount.inode("z") == number)
    #expect(try mount.head() == ["d/": "", "d/y": "other", "z": "old"])
    #expect(try mount.tree.fault() == nil)
  }

  @Test("a file keeps its number if the directory of its other name is made again with that name")
  func renamedAfterMaking() throws {
    let number = try mount.inode("x")
    try mount.unlink("d/y")
    try mount.removeDirectory("d")
    try mount.makeDirectory("d")
    try mount.save("d/y", "other")
    try mount.makeDirectory("e")
    try mount.rename("x", "e", .exchange)
    try mount.cut()
    #expect(try mount.inode("e") == number)
    #expect(try mount.head() == ["d/": "", "d/y": "other", "x/": "", "e": "old"])
    #expect(try mount.tree.fault() == nil)
  }

  @Test("a directory is not linked, nor a file over a name, nor one without a name")
  func refused() throws {
    #expect(throws: FSError.self) { try mount.link("d", "n") }
    #expect(throws: FSError.self) { try mount.link("x", "d/y") }
    let handle = try mount.open("x", .read)
    try mount.unlink("x")
    try mount.unlink("d/y")
    #expect(throws: FSError.self) {
      _ = try mount.tree.link(handle.inode, TreeSession.rootInode, Array("n".utf8))
    }
    #expect(try mount.names() == ["d"])
    try mount.close(handle)
  }
}
