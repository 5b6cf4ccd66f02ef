import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("Directories that versions ignore", .timeLimit(.minutes(2)))
struct IgnoredDirectoryTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  /// An ignored directory with files made and written before and after a cut.
  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path)
    try work.tree.setIgnore(IgnorePatterns(Array("scratch/\n".utf8)))
    try work.makeDirectory("scratch")
    try work.save("scratch/a", "one")
    try work.save("b", "one")
    try work.cut()
    try work.save("scratch/a", "two")
    try work.save("scratch/c", "two")
  }

  /// Makes a version, and returns the texts of its files.
  private func taken() throws -> [String: String] {
    try work.cut()
    try work.check()
    return try work.recordedTexts().compactMapValues(\.self)
  }

  @Test("A cut does not look at what changes there")
  func unlisted() throws {
    try work.unlink("scratch/a")
    try work.save("d", "two")
    #expect(Set(work.tree.pending.sinceCut.places.map(\.name.text)) == ["d"])
    #expect(try taken() == ["b": "one", "d": "two"])
    try work.save("scratch/e", "three")
    try work.makeDirectory("scratch/f")
    try work.save("scratch/f/g", "three")
    #expect(work.tree.pending.sinceCut.places.isEmpty)
    #expect(try work.texts()["scratch/c"] == "two")
  }

  @Test("All of it is in the next version after it moves to another name")
  func moves() throws {
    try work.rename("scratch", "kept")
    try work.save("kept/e", "three")
    #expect(try taken() == ["b": "one", "kept/a": "two", "kept/c": "two", "kept/e": "three"])
    try work.save("kept/c", "four")
    #expect(try taken()["kept/c"] == "four")
  }

  @Test("All of it is in the next version after its directory moves where no pattern matches")
  func movesAbove() throws {
    try work.tree.setIgnore(IgnorePatterns(Array("scratch/\n/up/down\n".utf8)))
    try work.makeDirectory("up")
    try work.makeDirectory("up/down")
    try work.save("up/down/f", "three")
    #expect(try taken()["up/down/f"] == nil)
    try work.rename("up", "over")
    try work.save("over/down/g", "four")
    let found = try taken()
    #expect(found["over/down/f"] == "three" && found["over/down/g"] == "four")
  }

  @Test(
    "It stays out of versions after the patterns change, until it is tracked",
    arguments: [false, true])
  func patterns(areInFile: Bool) throws {
    if areInFile {
      try work.save(".llvsignore", "!scratch/\n")
    } else {
      try work.tree.setIgnore(IgnorePatterns([]))
    }
    try work.save("scratch/e", "three")
    #expect(try taken()["scratch/e"] == nil)
    try work.tree.track(TreePath("scratch".utf8))
    let found = try taken().filter { $0.key.hasPrefix("scratch/") }
    #expect(found == ["scratch/a": "two", "scratch/c": "two", "scratch/e": "three"])
  }

  @Test("A file that gets a name elsewhere is in the next version")
  func leaves() throws {
    try work.rename("scratch/c", "c")
    try work.link("scratch/a", "l")
    #expect(try taken() == ["b": "one", "c": "two", "l": "two"])
    try work.save("scratch/a", "three")
    #expect(try taken()["l"] == "three")
  }

  @Test("A file that moves there leaves the versions")
  func comes() throws {
    try work.rename("b", "scratch/b")
    #expect(try taken() == [:])
    try work.save("scratch/b", "two")
    #expect(try taken() == [:])
    #expect(try work.texts()["scratch/b"] == "two")
  }

  @Test("Names that a new head has there are versioned, and others stay ignored")
  func heads() throws {
    try work.merge(try work.others(["scratch/c": "theirs", "scratch/x": "theirs"]))
    try work.check()
    try work.save("scratch/x", "mine")
    try work.save("scratch/y", "mine")
    let found = try taken()
    #expect(found["scratch/x"] == "mine" && found["scratch/c"] == "theirs")
    #expect(found["scratch/a"] == nil && found["scratch/y"] == nil)
    let texts = try work.texts()
    #expect(texts["scratch/y"] == "mine" && texts["scratch/c"] == "two")
    #expect(texts["scratch/%llvs%scratch%2Fc"] == "theirs")
  }
}
