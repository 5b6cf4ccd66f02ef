import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// The attributes of the root directory, which no version can hold.
@Suite("The root directory", .timeLimit(.minutes(1)))
struct RootAttributeTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory(inMemory: true) }

  private func set(_ work: TreeAtWork, mode: UInt32) throws {
    var change = StatusChange()
    change.mode = mode
    #expect(try work.tree.setattr(.root, change).mode == mode)
  }

  @Test("a cut brings them to the store, makes no version of them, and moves no time")
  func cut() throws {
    let work = try TreeAtWork(directory.path)
    try work.save("a", "one")
    let first = try work.cut()
    try set(work, mode: 0o2750)
    let before = try work.tree.status(of: .root)
    #expect(before.mode == 0o2750)
    let outcome = try work.cut()
    #expect(!outcome.isNew)
    #expect(outcome.head?.number == first.head?.number)
    #expect(try RootAttributes.stored(in: work.store).mode == 0o2750)
    #expect(work.tree.pending.nodes.isEmpty)
    #expect(try work.tree.status(of: .root) == before)
    try work.check()
  }

  @Test("names that a version takes leave the times of the root as programs saw them")
  func times() throws {
    let work = try TreeAtWork(directory.path)
    try set(work, mode: 0o700)
    try work.save("a", "one")
    try work.makeDirectory("d")
    let before = try work.tree.status(of: .root)
    _ = try work.cut()
    #expect(work.tree.pending.nodes.isEmpty)
    #expect(try work.tree.status(of: .root) == before)
    try work.save("b", "two")
    #expect(try work.tree.status(of: .root).mtime > before.mtime)
    #expect(try work.tree.status(of: .root).mode == 0o700)
    try work.check()
  }

  @Test("extended attributes of any length are recorded and found again")
  func extended() throws {
    let work = try TreeAtWork(directory.path)
    let (short, long) = ([UInt8](repeating: 1, count: 10), [UInt8](repeating: 2, count: 5000))
    try work.tree.setxattr(.root, Array("user.short".utf8), short)
    try work.tree.setxattr(.root, Array("user.long".utf8), long)
    for _ in 0..<2 {
      #expect(try work.tree.getxattr(.root, Array("user.short".utf8)) == short)
      #expect(try work.tree.getxattr(.root, Array("user.long".utf8)) == long)
      _ = try work.cut()
    }
    try set(work, mode: 0o700)
    _ = try work.cut()
    #expect(try work.tree.getxattr(.root, Array("user.long".utf8)) == long)
    let lost = directory.file("lost")
    try copyTree(directory.path, to: lost, leavingOut: "tree.sqlite")
    #expect(try TreeAtWork(lost).tree.getxattr(.root, Array("user.long".utf8)) == long)
  }

  @Test("they are there at the next mount, pending or recorded, also when the rows are lost")
  func nextMount() throws {
    let work = try TreeAtWork(directory.path)
    try work.save("a", "one")
    try set(work, mode: 0o711)
    let pending = directory.file("pending")
    try copyTree(directory.path, to: pending)
    #expect(try TreeAtWork(pending).tree.status(of: .root).mode == 0o711)
    _ = try work.cut()
    let lost = directory.file("lost")
    try copyTree(directory.path, to: lost, leavingOut: "tree.sqlite")
    try FileSystem.removeTree("\(lost)/journal")
    #expect(try TreeAtWork(lost).tree.status(of: .root).mode == 0o711)
  }
}
