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
