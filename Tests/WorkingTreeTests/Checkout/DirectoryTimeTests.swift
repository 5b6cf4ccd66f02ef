import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// The times of directories in which names came and went between two cuts.
@Suite(.timeLimit(.minutes(1)))
struct DirectoryTimeTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path, longCut: 0, isHeld: true)
    try work.makeDirectory("d")
    try work.makeDirectory("d/e")
    try work.save("d/e/a", "one")
    try work.cut()
  }

  private func comeAndGo(_ path: String) throws -> InodeStatus {
    try work.save(path, "scratch")
    try work.unlink(path)
    let above = path.split(separator: "/").dropLast().joined(separator: "/")
    return try work.tree.status(of: work.number(above))
  }

  @Test("The next cut records them, and nothing of the directory stays pending")
  func recorded() throws {
    let before = try comeAndGo("d/e/scratch")
    try work.save("b", "two")
    try work.cut()
    #expect(work.tree.pending.nodes.isEmpty)
    #expect(try work.tree.status(of: work.number("d/e")) == before)
    try work.check()
  }

  @Test("A cut with nothing else to take leaves them for the one after it")
  func left() throws {
    let before = try comeAndGo("d/e/scratch")
    #expect(try !work.cut().isNew)
    #expect(try work.tree.status(of: work.number("d/e")) == before)
    try work.save("b", "two")
    try work.cut()
    #expect(work.tree.pending.nodes.isEmpty)
    #expect(try work.tree.status(of: work.number("d/e")) == before)
    try work.check()
  }

  @Test("Names that come and go while a cut is under way count for the next one")
  func during() throws {
    try work.save("b", "two")
    try work.versioner.transition(CutRequest(.command))
    let before = try comeAndGo("d/e/scratch")
    work.writeRows()
    #expect(try work.tree.status(of: work.number("d/e")) == before)
    try work.save("c", "three")
    try work.cut()
    #expect(work.tree.pending.nodes.isEmpty)
    #expect(try work.tree.status(of: work.number("d/e")) == before)
    try work.check()
  }
}
