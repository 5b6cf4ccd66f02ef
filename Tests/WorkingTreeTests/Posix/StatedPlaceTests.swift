import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// The words by which a tree tells how files stand to versions, and the patterns that keep them out.
@Suite("Files and versions", .timeLimit(.minutes(2)))
struct StatedPlaceTests {
  private let caller = Caller(uid: 1000, gid: 1000)

  private func name(_ text: String) -> FileName { FileName(Array(text.utf8)) }

  private func own(_ fixture: FileFixture, _ number: InodeNumber, _ attribute: String) throws
    -> String
  {
    let name = Array("user.llvs.\(attribute)".utf8)
    return String(decoding: try fixture.tree.getxattr(number, name), as: UTF8.self)
  }

  private func patterns(_ text: String) -> IgnorePatterns { IgnorePatterns(Array(text.utf8)) }

  /// Makes a saved file in a directory.
  private func save(
    _ fixture: FileFixture, _ directory: InodeNumber, _ file: String, _ text: String = ""
  ) throws -> InodeNumber {
    let made = try fixture.tree.create(
      directory, name(file), mode: 0o644, open: .write, caller: caller)
    if !text.isEmpty { try fixture.write(made.handle, text) }
    try fixture.tree.release(made.handle)
    return made.status.number
  }

  @Test("the state of a file follows what is written, saved and taken")
  func states() throws {
    let fixture = try FileFixture(["d/file": [1], "other": [2]])
    let directory = try fixture.number("d")
    let file = try fixture.tree.lookup(directory, name("file")).number
    #expect(try own(fixture, file, "state") == "committed")
    #expect(try own(fixture, directory, "state") == "committed")
    let handle = try fixture.tree.open(file, mode: .write).handle
    #expect(try own(fixture, file, "state") == "committed")
    try fixture.write(handle, "new")
    #expect(try own(fixture, file, "state") == "unsaved")
    try fixture.tree.release(handle)
    #expect(try own(fixture, file, "state") == "pending")
    #expect(try own(fixture, directory, "state") == "committed")
    let other = try fixture.number("other")
    try fixture.tree.rename(
      FileFixture.place("other"), to: FileFixture.place("moved"), mode: .replacing)
    #expect(try own(fixture, other, "state") == "pending")
    let made = try fixture.tree.makeDirectory(.root, name("new"), mode: 0o755, caller: caller)
    #expect(try own(fixture, made.number, "state") == "pending")
    let top = try save(fixture, .root, "top", "text")
    try fixture.take(["top"])
    #expect(try own(fixture, top, "state") == "committed")
  }

  @Test("a file's key, its version and the number of its revisions are told and not listed")
  func keys() throws {
    let fixture = try FileFixture(["d/file": [1], "gone": [2]])
    let directory = try fixture.number("d")
    let file = try fixture.tree.lookup(directory, name("file")).number
    #expect(try own(fixture, file, "key") == "d/file")
    #expect(try own(fixture, file, "version") == fixture.head.name)
    #expect(try own(fixture, file, "revisions") == "1")
    #expect(try fixture.tree.listxattr(file) == [])
    expect(.noData) { try own(fixture, file, "other") }
    // Nothing records a directory that only its files make.
    expect(.noData) { try own(fixture, directory, "version") }
    let gone = try fixture.number("gone")
    let handle = try fixture.tree.open(gone, mode: .read).handle
    try fixture.tree.unlink(.root, name("gone"))
    expect(.noData) { try own(fixture, gone, "key") }
    try fixture.tree.release(handle)
  }

  @Test("patterns keep new names out of versions, and none that a version has")
  func scratch() throws {
    let fixture = try FileFixture(["old.o": [1], "d/kept": [2]])
    try fixture.tree.setIgnore(patterns("*.o\nbuild/\n"))
    #expect(try own(fixture, try fixture.number("old.o"), "state") == "committed")
    let object = try save(fixture, .root, "new.o", "x")
    #expect(try own(fixture, object, "state") == "scratch")
    let build = try fixture.tree.makeDirectory(.root, name("build"), mode: 0o755, caller: caller)
    #expect(try own(fixture, build.number, "state") == "scratch")
    let below = try save(fixture, build.number, "file", "x")
    #expect(try own(fixture, below, "state") == "scratch")
    // A directory that a version has stays in versions under such a name.
    let directory = try fixture.number("d")
    try fixture.tree.rename(
      FileFixture.place("d"), to: FileFixture.place("d.o"), mode: .replacing)
    #expect(try own(fixture, directory, "state") == "pending")
    try fixture.tree.setIgnore(patterns(""))
    #expect(try own(fixture, object, "state") == "scratch")
    try fixture.check()
  }

  @Test("files with patterns count as programs see them, the nearest first")
  func files() throws {
    let fixture = try FileFixture([
      ".llvsignore": Array("*.a\n".utf8), "d/.llvsignore": Array("!x.a\n".utf8), "d/e/f": [1],
    ])
    func reason(_ path: String) throws -> IgnoreScope.Reason? {
      try fixture.tree.reasonToIgnore(TreePath(Array(path.utf8)), isDirectory: false)
    }
    #expect(try reason("y.a")?.line == 1)
    #expect(try reason("y.a")?.directory == [])
    #expect(try reason("d/x.a") == nil)
    #expect(try reason("d/y.a")?.path == Array("d/y.a".utf8))
    #expect(try reason("d/e/deep/z.b") == nil)
    let directory = try fixture.number("d")
    let below = try fixture.tree.lookup(directory, name("e")).number
    _ = try save(fixture, below, ".llvsignore", "\n*.b\n")
    #expect(try reason("d/e/deep/z.b")?.line == 2)
    #expect(try reason("d/e/deep/z.b")?.directory == Array("d/e".utf8))
    // Versions have it still, so it holds until one is without it.
    try fixture.tree.unlink(directory, name(".llvsignore"))
    #expect(try reason("d/x.a") == nil)
    try fixture.tree.unlink(below, name(".llvsignore"))
    #expect(try reason("d/e/deep/z.b") == nil)
    try fixture.tree.setIgnore(patterns("z*\n"))
    #expect(try reason("d/zoo")?.directory == nil)
    #expect(try reason("d/zoo")?.line == 1)
  }
}
