import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Long extended attributes, which only maps have, of files whose bytes are pending while the head changes.
@Suite(.timeLimit(.minutes(1)))
struct ExtendedMergeTests {
  private static let name = Array("user.long".utf8)
  private static let value = [UInt8](repeating: 2, count: 5000)

  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path)
  }

  /// Makes a version in which the file has the attribute, and returns it with one after it that lacks it.
  private func versions() throws -> (with: VersionNumber, without: VersionNumber) {
    try work.save("f", "one")
    try work.save("other", "other")
    try work.tree.setxattr(work.number("f"), Self.name, Self.value)
    let with = try #require(try work.cut().head?.number)
    try work.tree.removexattr(work.number("f"), Self.name)
    let without = try #require(try work.cut().head?.number)
    try work.go(to: with)
    return (with, without)
  }

  @Test(
    "A merge takes them from a file whose bytes are written meanwhile, and the bytes go into a version"
  )
  func taken() throws {
    let (_, without) = try versions()
    let (number, handle) = try work.open("f")
    #expect(try work.tree.getxattr(number, Self.name) == Self.value)
    try work.write("two", through: handle)
    try work.merge(without)
    try work.close(handle)
    let outcome = try work.cut()
    #expect(outcome.unreadable.isEmpty)
    #expect(try work.recordedTexts() == ["f": "two", "other": "other"])
    #expect(throws: FSError.self) {
      try work.tree.getxattr(work.number("f"), Self.name)
    }
    try work.check()
  }

  @Test("A file that moved keeps its own, not those of the file whose name it took")
  func moved() throws {
    let (_, without) = try versions()
    let others = [UInt8](repeating: 3, count: 6000)
    try work.tree.setxattr(work.number("other"), Self.name, others)
    try work.cut()
    let (_, handle) = try work.open("f")
    try work.write("two", through: handle)
    try work.merge(without)
    try work.rename("f", "other")
    try work.close(handle)
    try work.cut()
    #expect(try work.recordedTexts() == ["other": "two"])
    let kept = try? work.tree.getxattr(work.number("other"), Self.name)
    #expect(kept != others)
    try work.check()
  }
}
