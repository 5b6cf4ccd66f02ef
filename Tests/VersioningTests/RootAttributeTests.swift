import Inodes
import LLVSCore
import PendingTree
import Platform
import TestSupport
import Testing
import TreeNames

@testable import PosixTree
@testable import Versioning

/// The attributes of the root directory, which no version can hold.
@Suite("The root directory", .timeLimit(.minutes(1)))
struct RootAttributeTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory(inMemory: true) }

  private func set(_ work: TreeAtWork, mode: UInt32) throws {
    try work.tree.change { state, base throws(FSError) in
      var attributes = try work.tree.attributes(of: .root, state, base)
      attributes.mode = mode
      return WorkingTree.Decision(
        concerned: [.root], operations: [.attributes(.root, attributes)]
      ) { _ in }
    }
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
