import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// The names that differ from the head, as status shows them.
@Suite("Pending names", .timeLimit(.minutes(2)))
struct PendingPathTests {
  private let caller = Caller(uid: 1000, gid: 1000)

  private func name(_ text: String) -> FileName { FileName(Array(text.utf8)) }

  private func paths(_ fixture: FileFixture) throws -> [String] {
    try #require(try fixture.tree.pendingPaths(atMost: 100)).map { item in
      let sign = String(UnicodeScalar(item.change.rawValue))
      return sign + String(decoding: item.path.bytes, as: UTF8.self) + (item.isDirectory ? "/" : "")
    }
  }

  private func save(_ fixture: FileFixture, _ directory: InodeNumber, _ file: String) throws {
    let made = try fixture.tree.create(
      directory, name(file), mode: 0o644, open: .write, caller: caller)
    try fixture.write(made.handle, "text")
    try fixture.tree.release(made.handle)
  }

  private func rename(_ fixture: FileFixture, _ from: String, _ to: String) throws {
    try fixture.tree.rename(
      FileFixture.place(from), to: FileFixture.place(to), mode: .replacing)
  }

  @Test("names that are new, gone, changed and moved are told apart")
  func changes() throws {
    let fixture = try FileFixture([
      "changed": [1], "gone": [2], "moved": [3], "over": [4], "under": [5], "d/x": [6],
      "d/e/y": [7], "same": [8],
    ])
    #expect(try paths(fixture) == [])
    #expect(try fixture.tree.pendingSummary() == PendingSummary())
    let tree = fixture.tree
    let changed = try tree.open(try fixture.number("changed"), mode: .write).handle
    try fixture.write(changed, "new")
    try tree.unlink(.root, name("gone"))
    try rename(fixture, "moved", "elsewhere")
    try rename(fixture, "over", "under")
    try rename(fixture, "d", "f")
    let directory = try fixture.number("f")
    try save(fixture, directory, "inside")
    let made = try tree.makeDirectory(.root, name("made"), mode: 0o755, caller: caller)
    try save(fixture, made.number, "file")
    #expect(
      try paths(fixture) == [
        "*changed", "-d", "+elsewhere", "+f/", "-gone", "+made/", "+made/file", "-moved", "-over",
        "*under",
      ])
    let summary = try tree.pendingSummary()
    // A file with another name is the same file.
    #expect((summary.changed, summary.new, summary.removed) == (4, 3, 4))
    #expect(summary.unsaved == [TreePath(Array("changed".utf8))])
    #expect(summary.beside == [])
    #expect(try tree.pendingPaths(atMost: 9) == nil)
    #expect(try tree.pendingPaths(atMost: 10)?.count == 10)
    try tree.release(changed)
    #expect(try tree.pendingSummary().unsaved == [])
    try fixture.check()
  }

  @Test("names that patterns keep out of versions are left out, with what is in them")
  func ignored() throws {
    let fixture = try FileFixture(["old.o": [1]])
    try fixture.tree.setIgnore(IgnorePatterns(Array("*.o\nbuild/\n".utf8)))
    try save(fixture, .root, "new.o")
    let build = try fixture.tree.makeDirectory(.root, name("build"), mode: 0o755, caller: caller)
    try save(fixture, build.number, "file")
    let unsaved = try fixture.tree.create(
      build.number, name("unsaved"), mode: 0o644, open: .write, caller: caller)
    try fixture.write(unsaved.handle, "text")
    let old = try fixture.tree.open(try fixture.number("old.o"), mode: .write).handle
    try fixture.write(old, "new")
    #expect(try paths(fixture) == ["*old.o"])
    let summary = try fixture.tree.pendingSummary()
    #expect((summary.changed, summary.new, summary.removed) == (1, 0, 0))
    #expect(summary.unsaved == [TreePath(Array("old.o".utf8))])
  }

  @Test("what was saved in a file that lost its name is beside the name")
  func beside() throws {
    let fixture = try FileFixture(["file": [1], "other": [2]])
    let number = try fixture.number("file")
    let handle = try fixture.tree.open(number, mode: .write).handle
    try fixture.follow(["file": [3]])
    try fixture.write(handle, "mine")
    #expect(try fixture.tree.pendingSummary().unsaved == [TreePath(Array("file".utf8))])
    try fixture.tree.fsync(handle)
    let summary = try fixture.tree.pendingSummary()
    #expect(summary.beside == [TreePath(Array("file".utf8))])
    #expect(summary.unsaved == [])
  }

  @Test("an inode is found by its number as long as it has a name or is open")
  func numbers() throws {
    let fixture = try FileFixture(["file": [1], "d/x": [2]])
    let tree = fixture.tree
    let file = try fixture.number("file")
    tree.forget(file, count: 1)
    #expect(!tree.isKnownToKernel(file, besides: 0))
    #expect(try tree.lookup(number: file).size == 1)
    #expect(tree.isKnownToKernel(file, besides: 0) && !tree.isKnownToKernel(file, besides: 1))
    #expect(tree.state { $0.known.count } == 2)
    expect(.stale) { try tree.lookup(number: InodeNumber(1 << 39)) }
    let handle = try tree.open(file, mode: .read).handle
    #expect(tree.isOpen(file))
    #expect(try tree.path(of: file) == TreePath(Array("file".utf8)))
    let directory = try fixture.number("d")
    let below = try tree.lookup(directory, name("x")).number
    #expect(try tree.lookup(number: below, above: true).number == directory)
    #expect(tree.isKnownToKernel(directory, besides: 1))
    #expect(try tree.lookup(number: directory, above: true).number == .root)
    #expect(try tree.path(of: below) == TreePath(Array("d/x".utf8)))
    #expect(try tree.path(of: .root) == .root)
    try tree.unlink(.root, name("file"))
    #expect(try tree.path(of: file) == nil)
    #expect(try tree.lookup(number: file).links == 0)
    try tree.release(handle)
    #expect(!tree.isOpen(file))
    expect(.stale) { try tree.lookup(number: file) }
  }

  @Test("the stamp changes with what is shown")
  func stamp() throws {
    let fixture = try FileFixture(["file": [1]])
    let first = fixture.tree.shownStamp
    fixture.tree.forget(try fixture.number("file"), count: 1)
    #expect(fixture.tree.shownStamp == first)
    try fixture.unlink("file")
    let second = fixture.tree.shownStamp
    #expect(second != first)
    let publications = fixture.tree.publications
    try fixture.follow(["other": [2]])
    #expect(fixture.tree.shownStamp != second)
    #expect(fixture.tree.publications == publications + 1)
  }
}
