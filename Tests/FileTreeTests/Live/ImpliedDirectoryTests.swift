import LLVS
import TestSupport
import Testing

@testable import FileTree

@Test("A directory that only keys imply has one inode number, also after another mount")
func impliedDirectoriesKeepTheirNumbers() throws {
  let directory = try TemporaryDirectory()
  func open() throws -> LiveTree {
    let store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
    return try LiveTree.open(
      store, defaults: LiveTree.Defaults(uid: 0, gid: 0), ignore: .defaults,
      settings: StoreSettings()
    ).0
  }
  func numbers(_ tree: LiveTree) throws -> [UInt64] {
    let a = try tree.lookup(LiveTree.rootInode, Array("a".utf8)).inode
    let listed = try tree.list(LiveTree.rootInode).items.first { $0.name == Array("a".utf8) }
    #expect(listed?.inode == a)
    return [a, try tree.lookup(a, Array("b".utf8)).inode]
  }
  var first: [UInt64] = []
  do {
    let tree = try open()
    // As the library makes versions: values by their keys, no entries for directories.
    let version = try tree.store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: Value.ID("a/b/c"), data: [1])])
    let versioner = Versioner(
      tree: tree, log: EventLog(directory: directory.path)
    ) { _ in }
    _ = try versioner.transition(.command) { (transaction, _) throws(StoreError) in
      try transaction.version(version.id)?.number
    }
    first = try numbers(tree)
    #expect(first[0] != first[1])
    #expect(try numbers(tree) == first)
  }
  #expect(try numbers(try open()) == first)
}

@Test("One that moved away here is not shown for another of its name that comes by a merge")
func impliedDirectoriesThatMovedAreNotFoundAgain() throws {
  let directory = try TemporaryDirectory()
  let mount = try MountedTree.unhurried(directory.path)
  func bring(_ key: String) throws {
    let head = try mount.store.state().head.flatMap { try mount.store.version($0) }
    let made = try mount.store.makeVersion(
      basedOnPredecessor: head?.id, inserting: [Value(id: Value.ID(key), data: [1])])
    _ = try mount.versioner.transition(.command) { (transaction, _) throws(StoreError) in
      try transaction.version(made.id)?.number
    }
  }
  try bring("p/x")
  // Somebody works in it.
  let inode = try mount.with("p") { try mount.tree.lookup($0, $1).node }
  try mount.rename("p", "q")
  try mount.cut()
  try bring("p/y")
  #expect(try mount.names() == ["p", "q"])
  #expect(try mount.names("p") == ["y"])
  #expect(try mount.names("q") == ["x"])
  #expect(try mount.inode("q") == inode)
  #expect(try mount.inode("p") != inode)
  let listed = try mount.tree.list(LiveTree.rootInode).items.first { $0.name == Array("p".utf8) }
  #expect(try listed?.inode == mount.inode("p"))
  #expect(try mount.tree.fault() == nil)
  mount.forget(inode)
}
