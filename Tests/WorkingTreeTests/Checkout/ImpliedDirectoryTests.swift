import Events
import Inodes
import LLVSCore
import TestSupport
import Testing

@testable import Grammar
@testable import HistoryTree
@testable import TreeNames
@testable import TreeSupport
@testable import WorkingTree

@Test("A directory that only keys imply has one inode number, also after another mount")
func impliedDirectoriesKeepTheirNumbers() throws {
  let directory = try TemporaryDirectory()
  func open() throws -> TreeSession {
    let store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
    return try TreeSession.open(
      store, defaults: AttributeDefaults(uid: 0, gid: 0), ignore: .defaults,
      settings: StoreSettings()
    ).0
  }
  func numbers(_ tree: TreeSession) throws -> [UInt64] {
    let a = try tree.lookup(TreeSession.rootInode, Array("a".utf8)).inode
    let listed = try tree.list(TreeSession.rootInode).items.first { $0.name == Array("a".utf8) }
    #expect(listed?.inode == a)
    return [a, try tree.lookup(a, Array("b".utf8)).inode]
  }
  var first: [UInt64] = []
  do {
    let tree = try open()
    // As the library makes versions: values by their keys, no entries for directories.
    let version = try tree.store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: Value.ID("a/b/c"), data: [1])])
    _ = try tree.transition(.command) { (transaction, _) throws(StoreError) in
      try transaction.version(version.id)?.number
    }
    first = try numbers(tree)
    #expect(first[0] != first[1])
    #expect(try numbers(tree) == first)
  }
  #expect(try numbers(try open()) == first)
}

/// Puts a version under the tree that has one key more than the head before the cut, or merges it in.
private func bring(_ key: String, into mount: MountedTree, isMerged: Bool = false) throws {
  let head = try mount.store.state().head.flatMap { try mount.store.version($0) }
  let made = try mount.store.makeVersion(
    basedOnPredecessor: head?.id, inserting: [Value(id: Value.ID(key), data: [1])])
  _ = try mount.tree.transition(.command) { (transaction, head) throws(StoreError) in
    guard let other = try transaction.version(made.id)?.number, isMerged else {
      return try transaction.version(made.id)?.number
    }
    return try transaction.mergeSides([head ?? other, other], live: head).outcome
  }
}

@Test("One that moved away here is not shown for another of its name that comes by a merge")
func impliedDirectoriesThatMovedAreNotFoundAgain() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  try bring("p/x", into: mount)
  // Somebody works in it.
  let inode = try mount.with("p") { try mount.tree.lookup($0, $1).node }
  try mount.rename("p", "q")
  try mount.cut()
  try bring("p/y", into: mount)
  #expect(try mount.names() == ["p", "q"])
  #expect(try mount.names("p") == ["y"])
  #expect(try mount.names("q") == ["x"])
  #expect(try mount.inode("q") == inode)
  #expect(try mount.inode("p") != inode)
  let listed = try mount.tree.list(TreeSession.rootInode).items.first { $0.name == Array("p".utf8) }
  #expect(try listed?.inode == mount.inode("p"))
  #expect(try mount.tree.fault() == nil)
  mount.forget(inode)
}

/// Puts a version under the tree in which a directory has no entry of its own any more.
private func withoutEntry(
  _ body: (MountedTree, _ before: [UInt64]) throws -> Void
) throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  func show(_ version: Version.ID) throws {
    _ = try mount.tree.transition(.command) { (transaction, _) throws(StoreError) in
      try transaction.version(version)?.number
    }
  }
  try show(
    mount.store.makeVersion(
      basedOnPredecessor: nil,
      inserting: [
        Value(id: Value.ID("p/x"), data: Array("one".utf8)),
        Value(id: Value.ID("p/y"), data: Array("y".utf8)),
      ]
    ).id)
  try mount.link("p/x", "z")
  try mount.cut()
  let plain = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
  try mount.change("p") { $0.mode = 0o700 }
  try mount.cut()
  // The kernel knows them all.
  let known = try ["p", "p/x", "p/y"].map { path in
    try mount.with(path) { try mount.tree.lookup($0, $1) }
  }
  defer { for status in known { mount.forget(status.node) } }
  let changed = ["p/x", "p/y"].map { Value(id: Value.ID($0), data: Array("two".utf8)) }
  try show(
    mount.store.makeVersion(
      basedOnPredecessor: plain.id, storing: changed.map { .update($0) }
    ).id)
  try body(mount, known.map(\.inode))
}

@Test("One that only names below say is there keeps its number, and shows what they are")
func directoriesThatLoseTheirEntries() throws {
  try withoutEntry { mount, before in
    #expect(mount.text("p/x") == "two" && mount.text("p/y") == "two" && mount.text("z") == "one")
    #expect(try mount.inode("p") == before[0])
    #expect(try mount.status("p").mode & 0o777 == 0o755)
    #expect(try mount.tree.fault() == nil)
    try mount.save("p/new", "new")
    try mount.cut()
    #expect(try mount.head() == ["p/x": "two", "p/y": "two", "p/new": "new", "z": "one"])
    #expect(try mount.tree.fault() == nil)
  }
}

@Test(
  "One that loses its entry keeps its number in the next mount too, whatever is in no version yet")
func directoriesThatLoseTheirEntriesAfterMount() throws {
  try withoutEntry { mount, before in
    for isPending in [false, true] {
      if isPending { try mount.save("p/new", "new") }
      let copy = try TemporaryDirectory()
      try copyTree(mount.path, to: copy.file("s"))
      let again = try MountedTree.unhurried(copy.path)
      #expect(try again.inode("p") == before[0])
      let node = try again.with("p") { try again.tree.lookup($0, $1).node }
      try again.cut()
      #expect(try again.inode("p") == before[0])
      try again.save("p/newer", "newer")
      #expect(try again.inode("p") == before[0])
      #expect(try again.tree.fault() == nil)
      again.forget(node)
    }
  }
}

@Test("One that others removed and something is made in keeps its number in the next mounts too")
func directoriesThatComeBackWithoutEntries() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  try mount.save("x", "x")
  try mount.cut()
  let plain = try #require(try mount.store.state().head)
  try mount.makeDirectory("p")
  try mount.cut()
  let inode = try mount.inode("p")
  let node = try mount.with("p") { try mount.tree.lookup($0, $1).node }
  // What is not saved yet stays where it is, whatever comes.
  let handle = try mount.create("p/new")
  try mount.write(handle, [1])
  _ = try mount.tree.transition(.command) { (_, _) in plain }
  #expect(try mount.inode("p") == inode)
  try mount.close(handle)
  func check(_ mount: MountedTree, _ times: Int) throws {
    for time in 0..<times {
      try mount.save("p/\(time)", "\(time)")
      try mount.cut()
      #expect(try mount.inode("p") == inode)
      #expect(try mount.tree.fault() == nil)
    }
  }
  let copy = try TemporaryDirectory()
  try copyTree(mount.path, to: copy.file("s"))
  try check(try MountedTree.unhurried(copy.path), 2)
  try check(try MountedTree.unhurried(copy.path), 2)
  try check(mount, 1)
  mount.forget(node)
}

@Test(
  "What is changed at one where others have a file is in the version that has what was made in it")
func directoriesThatStayBesideFiles() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  try mount.save("p", "file")
  try mount.cut()
  let plain = try #require(try mount.store.state().head)
  try mount.unlink("p")
  try mount.makeDirectory("p")
  try mount.save("p/x~", "ignored")
  try mount.cut()
  let handle = try mount.create("p/new")
  try mount.write(handle, [1])
  _ = try mount.tree.transition(.command) { (_, _) in plain }
  try mount.change("p") { $0.mode = 0o700 }
  // With nothing but what is ignored in it, it takes nobody's name.
  try mount.cut()
  #expect(try mount.head() == ["p": "file"])
  try mount.close(handle)
  try mount.cut()
  #expect(try mount.head().keys.sorted() == ["p", "p/", "p/new"])
  #expect(try mount.entry("p")?.attributes.mode == 0o700)
  #expect(try mount.status("p").mode & 0o777 == 0o700)
  #expect(try mount.tree.fault() == nil)
}

@Test(
  "One that stays where others have a file again is removed with that, as the kernel takes it to be"
)
func directoriesThatStayBesideFilesAreRemoved() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  try bring("e/other", into: mount)
  try bring("e/p", into: mount)
  let plain = try #require(try mount.store.state().head)
  try bring("e/p/x", into: mount)
  let handle = try mount.create("e/p/new")
  try mount.write(handle, [1])
  _ = try mount.tree.transition(.command) { (_, _) in plain }
  try mount.close(handle)
  try mount.unlink("e/p/new")
  try mount.removeDirectory("e/p")
  #expect(try mount.names("e") == ["other"])
  try mount.cut()
  #expect(try mount.names("e") == ["other"])
  #expect(try mount.tree.fault() == nil)
}

@Test(
  "The kernel is told what comes into one that it knows, whatever was pending in it when it was mounted"
)
func impliedDirectoriesKnownFromTheJournal() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  try bring("e/x", into: mount)
  try mount.save("e/new", "new")
  let copy = try TemporaryDirectory()
  try copyTree(mount.path, to: copy.file("s"))
  let again = try MountedTree.unhurried(copy.path)
  let e = try again.with("e") { try again.tree.lookup($0, $1) }
  try again.cut()
  again.told.all = []
  try bring("e/y", into: again, isMerged: true)
  let isTold = again.told.all.contains(.entry(parent: e.node, name: Array("y".utf8)))
  #expect(isTold)
  again.forget(e.node)
}

@Test("What is changed at one is changed on what it shows, also where it holds ignored files")
func impliedDirectoriesOfIgnoredFiles() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  try bring("p/x", into: mount)
  let plain = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
  let inode = try mount.inode("p")
  try mount.change("p") { $0.mode = 0o700 }
  try mount.cut()
  try mount.save("p/x~", "ignored")
  let other = try mount.store.makeVersion(
    basedOnPredecessor: plain.id,
    storing: [.update(Value(id: Value.ID("p/x"), data: Array("two".utf8)))])
  _ = try mount.tree.transition(.command) { (transaction, _) throws(StoreError) in
    try transaction.version(other.id)?.number
  }
  #expect(try mount.status("p").mode & 0o777 == 0o755)
  try mount.change("p") { $0.mode = 0o700 }
  #expect(try mount.cut().cut != nil)
  #expect(try mount.status("p").mode & 0o777 == 0o700)
  try mount.unlink("p/x~")
  try mount.cut()
  #expect(try mount.inode("p") == inode)
  let copy = try TemporaryDirectory()
  try copyTree(mount.path, to: copy.file("s"))
  let again = try MountedTree.unhurried(copy.path)
  #expect(try again.inode("p") == inode && again.status("p").mode & 0o777 == 0o700)
  #expect(try again.tree.fault() == nil)
}

@Test("Those below one that moved keep their numbers; what comes in their places has others")
func impliedDirectoriesBelowOneThatMoved() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  func check(_ path: String) throws -> UInt64 {
    let listed = try mount.with(path) { (parent, name) in
      try mount.tree.list(parent).items.first { $0.name == name }
    }
    let found = try mount.inode(path)
    #expect(listed?.inode == found)
    return found
  }
  try bring("p/c/x", into: mount, isMerged: true)
  let node = try mount.with("p/c") { try mount.tree.lookup($0, $1).node }
  defer { mount.forget(node) }
  let inode = try check("p/c")
  try mount.rename("p", "q")
  try bring("p/c/y", into: mount, isMerged: true)
  #expect(try mount.names("p/c") == ["y"] && mount.names("q/c") == ["x"])
  #expect(try check("q/c") == inode)
  #expect(try check("p/c") != inode)
  #expect(try mount.tree.fault() == nil)
}

@Test("The number of one that moved is not another's that comes to its name, after a mount either")
func impliedDirectoriesLeaveNoNumbers() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  try bring("b/x", into: mount)
  let inode = try mount.inode("b")
  try mount.rename("b", "c")
  try mount.cut()
  try bring("b/y", into: mount)
  // As the disk has it.
  let copy = try TemporaryDirectory()
  try copyTree(mount.path, to: copy.file("s"))
  let again = try MountedTree.unhurried(copy.path)
  let b = try again.with("b") { try again.tree.lookup($0, $1) }
  let listed = try again.tree.list(TreeSession.rootInode).items.first { $0.name == Array("c".utf8) }
  #expect(try again.inode("c") == inode)
  #expect(listed?.inode == inode && b.inode != inode)
  again.forget(b.node)
}

@Test(
  "Those below one that moved keep their numbers in the next mount too, whoever knew them",
  arguments: [false, true])
func impliedDirectoriesBelowOneThatMovedAfterMount(isKnown: Bool) throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  try bring("p/c/d/x", into: mount)
  try bring("r/c/d/x", into: mount)
  let paths = ["c", "c/d"]
  let (p, r) = try (
    paths.map { try mount.inode("p/\($0)") }, paths.map { try mount.inode("r/\($0)") }
  )
  let node = isKnown ? try mount.with("p/c/d") { try mount.tree.lookup($0, $1).node } : 0
  try mount.rename("p", "q")
  try mount.cut()
  #expect(try paths.map { try mount.inode("q/\($0)") } == p)
  try mount.rename("q", "r", .exchange)
  try mount.cut()
  try bring("p/c/d/y", into: mount)
  let numbers: (MountedTree) throws -> [[UInt64]] = { mount in
    try ["p", "q", "r"].map { top in try paths.map { try mount.inode("\(top)/\($0)") } }
  }
  let shown = try numbers(mount)
  #expect(shown[1] == r && shown[2] == p)
  #expect(Set(shown.joined()).count == 6)
  #expect(try mount.tree.fault() == nil)
  if node != 0 { mount.forget(node) }
  let copy = try TemporaryDirectory()
  try copyTree(mount.path, to: copy.file("s"))
  let again = try MountedTree.unhurried(copy.path)
  #expect(try numbers(again) == shown)
  #expect(try again.tree.fault() == nil)
}
