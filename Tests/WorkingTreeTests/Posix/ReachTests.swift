import LLVSCore
import TestSupport
import Testing

@testable import HistoryTree
@testable import TreeNames
@testable import TreeSupport
@testable import WorkingTree

@Suite("How far names may lead", .timeLimit(.minutes(2)))
struct ReachTests {
  private let name = Array("d".utf8)

  /// Makes directories inside each other, which the kernel goes on knowing; the inode of the last.
  private func makeDirectories(
    _ name: [UInt8], _ count: Int, in parent: UInt64, of mount: MountedTree
  ) throws -> UInt64 {
    var inode = parent
    for _ in 0..<count {
      inode =
        try mount.tree.makeDirectory(inode, name, mode: 0o755, caller: MountedTree.caller).inode
    }
    return inode
  }

  private func isTooLong(_ body: () throws -> Void) -> Bool {
    do {
      try body()
    } catch FSError.nameTooLong {
      return true
    } catch {
      Issue.record("\(error)")
    }
    return false
  }

  private func makeDirectory(_ name: [UInt8], in parent: UInt64, of mount: MountedTree) throws {
    mount.forget(
      try mount.tree.makeDirectory(parent, name, mode: 0o755, caller: MountedTree.caller).inode)
  }

  @Test("a path has 1,024 names at most, and a version takes them")
  func depth() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    let deepest = try makeDirectories(
      name, PathLimit.names - 1, in: TreeSession.rootInode, of: mount)
    try makeDirectory(name, in: deepest, of: mount)
    let last = try mount.tree.lookup(deepest, name).inode
    #expect(isTooLong { try makeDirectory(name, in: last, of: mount) })
    #expect(
      isTooLong {
        _ = try mount.tree.makeSymlink(last, name, target: [0x2F], caller: MountedTree.caller)
      })
    try mount.save("file", "x")
    let file = try mount.inode("file")
    #expect(isTooLong { _ = try mount.tree.link(file, last, name) })
    #expect(
      isTooLong {
        try mount.tree.rename(
          TreeSession.rootInode, Array("file".utf8), last, name, mode: .replacing)
      })
    _ = try mount.tree.link(file, deepest, Array("file".utf8))
    try mount.cut()
    let head = try mount.head()
    #expect(head.count == PathLimit.names + 2)
    #expect(head[String(repeating: "d/", count: PathLimit.names)] != nil)
  }

  @Test("a path is no longer than a key can be, whatever bytes its names have")
  func length() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    // No UTF-8: in a key each byte takes three.
    let long = [UInt8](repeating: 0xFF, count: 255)
    let fits = PathLimit.bytes / 256
    let deepest = try makeDirectories(long, fits, in: TreeSession.rootInode, of: mount)
    #expect(isTooLong { try makeDirectory(long, in: deepest, of: mount) })
    try makeDirectory(name, in: deepest, of: mount)
    try mount.cut()
    #expect(try mount.head().count == fits + 1)
  }

  @Test(
    "a directory is not renamed to where what it holds could not be stored",
    arguments: [false, true])
  func rename(isCommitted: Bool) throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    let half = PathLimit.names / 2
    let above = try makeDirectories(name, half, in: TreeSession.rootInode, of: mount)
    let deep = try makeDirectories(name, 1, in: above, of: mount)
    try mount.makeDirectory("e")
    _ = try makeDirectories(name, half - 1, in: try mount.inode("e"), of: mount)
    mount.forget(
      try mount.tree.makeNode(
        deep, name, kind: .fifo, mode: 0o644, caller: MountedTree.caller
      ).inode)
    if isCommitted { try mount.cut() }
    let e = Array("e".utf8)
    #expect(
      isTooLong {
        try mount.tree.rename(TreeSession.rootInode, e, deep, e, mode: .replacing)
      })
    #expect(
      isTooLong {
        try mount.tree.rename(deep, name, TreeSession.rootInode, e, mode: .exchange)
      })
    #expect(try mount.names() == ["d", "e"])
    // One name less, and it is as long as can be.
    try mount.tree.rename(TreeSession.rootInode, e, above, e, mode: .replacing)
    try mount.cut()
    #expect(try mount.names() == ["d"])
    let longest =
      String(repeating: "d/", count: half) + "e/" + String(repeating: "d/", count: half - 1)
    #expect(try mount.head()[longest] != nil)
  }

  @Test(
    "a key of 32,000 names costs what it is long, not the square of that", .timeLimit(.minutes(2)))
  func hostileKey() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree(directory.path)
    let key = [String](repeating: "a", count: 32_000).joined(separator: "/")
    func deepest() throws -> (inode: UInt64, numbers: [UInt64]) {
      var inode = TreeSession.rootInode
      var numbers: [UInt64] = []
      for _ in 0..<PathLimit.names {
        inode = try mount.tree.lookup(inode, Array("a".utf8)).inode
        numbers.append(inode)
      }
      return (inode, numbers)
    }
    // As the library makes versions: values by their keys, no entries for directories.
    let version = try mount.store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: Value.ID(key), data: [1])])
    _ = try mount.tree.transition(.command) { (transaction, _) throws(StoreError) in
      try transaction.version(version.id)?.number
    }
    let (inode, numbers) = try deepest()
    #expect(Set(numbers).count == PathLimit.names)
    let names = try mount.tree.list(inode).items.dropFirst(2).map(\.name)
    let shown = try #require(names.first)
    #expect(names.count == 1 && shown.starts(with: DisplacedName.prefix))
    let value = try mount.tree.lookup(inode, shown)
    #expect(try mount.bytes(ofInode: value.node) == [1])
    #expect(names.count == 1)
    // It is written, and removed, as what it is.
    let handle = try mount.tree.open(value.node, mode: [.write, .truncate])
    try mount.write(handle, [2])
    try mount.close(handle)
    try mount.cut()
    let state = try mount.store.state()
    let head = try #require(try state.head.flatMap { try mount.store.version($0) })
    let entry = try mount.store.map(head.map).entry(at: Key(bytes: Array(key.utf8)))
    #expect(entry?.stored.length == 1 && entry?.storedVersion == head.number)
    try mount.tree.unlink(inode, shown)
    try mount.cut()
    // The directory that it was in is there until somebody removes it.
    #expect(try mount.names() == ["a"])
    #expect(try mount.tree.list(inode).items.count == 2)
    #expect(try deepest().inode == inode)
  }
}
