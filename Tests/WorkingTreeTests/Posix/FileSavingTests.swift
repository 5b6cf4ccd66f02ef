import Inodes
import LLVSCore
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

@Suite("The moments at which files count as saved")
struct FileSavingTests {
  @Test("the flush of a handle that wrote saves, one of a handle that did not saves nothing")
  func flush() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let tree = fixture.tree
    let number = try fixture.number("a")
    let writer = try tree.open(number, mode: .write).handle
    let other = try tree.open(number, mode: [.read, .write]).handle
    let reader = try tree.open(number, mode: .read).handle
    try fixture.write(writer, "new")
    try tree.flush(other)
    try tree.flush(reader)
    try tree.release(reader)
    #expect(try fixture.savedText(number) == nil)
    #expect(tree.unsavedFiles == [number])
    try tree.flush(writer)
    #expect(try fixture.savedText(number) == "new")
    #expect(tree.unsavedFiles == [])
    try fixture.write(writer, "N")
    #expect(try fixture.savedText(number) == "new")
    try tree.flush(other)
    #expect(try fixture.savedText(number) == "new")
    try tree.release(writer)
    #expect(try fixture.savedText(number) == "New")
    try fixture.check()
  }

  @Test("a resize through a handle is saved by its flush")
  func resize() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let number = try fixture.number("a")
    let handle = try fixture.tree.open(number, mode: .write).handle
    try fixture.tree.resize(number, to: 1, through: handle)
    #expect(try fixture.savedText(number) == nil)
    try fixture.tree.flush(handle)
    #expect(try fixture.savedText(number) == "o")
    try fixture.check()
  }

  @Test(
    "what an open made or emptied is saved by the second flush, or the release, and not by the first"
  )
  func emptied() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let tree = fixture.tree
    let number = try fixture.number("a")
    let handle = try tree.open(number, mode: [.write, .truncate]).handle
    // A shell's redirection closes a copy before it writes.
    try tree.flush(handle)
    #expect(try fixture.savedText(number) == nil)
    try tree.flush(handle)
    #expect(try fixture.savedText(number) == "")
    let (made, second) = try fixture.create("b")
    try tree.flush(second)
    #expect(try fixture.file(made).isNeverSaved)
    try tree.release(second)
    #expect(try fixture.savedText(made) == "")
    #expect(try !fixture.file(made).isNeverSaved)
    try fixture.check()
  }

  @Test("a handle that emptied a file saves nothing of what others write meanwhile")
  func emptiedAndWrittenByOthers() throws {
    let fixture = try FileFixture()
    let (number, maker) = try fixture.create("a")
    let writer = try fixture.tree.open(number, mode: .write).handle
    try fixture.write(writer, "half")
    try fixture.tree.release(maker)
    #expect(try fixture.savedText(number) == nil)
    try fixture.tree.release(writer)
    #expect(try fixture.savedText(number) == "half")
  }

  @Test("the release of the last handle that may write saves what was resized by path")
  func resizedByPath() throws {
    let fixture = try FileFixture()
    let (number, maker) = try fixture.create("a")
    try fixture.tree.resize(number, to: 3)
    try fixture.tree.flush(maker)
    #expect(try fixture.savedText(number) == nil)
    try fixture.tree.release(maker)
    #expect(try fixture.savedText(number) == "\0\0\0")
    try fixture.check()
  }

  @Test("truncate(2) by path saves at once, unless somebody has unsaved bytes in the file")
  func truncated() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let tree = fixture.tree
    let number = try fixture.number("a")
    try tree.resize(number, to: 2)
    #expect(try fixture.savedText(number) == "ol")
    #expect(try fixture.file(number).saved?.isSteady == true)
    let handle = try tree.open(number, mode: .write).handle
    try fixture.write(handle, "half", at: 2)
    try tree.resize(number, to: 4)
    #expect(try fixture.savedText(number) == "ol")
    try tree.flush(handle)
    #expect(try fixture.savedText(number) == "olha")
    try fixture.check()
  }

  @Test("mapped bytes are saved by the flush or the release of any handle that may write")
  func mapped() throws {
    let fixture = try FileFixture(["a": Array("old".utf8)])
    let tree = fixture.tree
    let number = try fixture.number("a")
    let first = try tree.open(number, mode: [.read, .write]).handle
    let second = try tree.open(number, mode: [.read, .write]).handle
    let reader = try tree.open(number, mode: .read).handle
    try fixture.write(first, Array("N".utf8), mapped: true)
    try tree.release(reader)
    #expect(try fixture.savedText(number) == nil)
    try tree.flush(second)
    #expect(try fixture.savedText(number) == "Nld")
    // Mapped stores arrive after close's flush.
    try tree.flush(first)
    try fixture.write(first, Array("E".utf8), at: 1, mapped: true)
    try tree.release(second)
    #expect(try fixture.savedText(number) == "NEd")
    #expect(try !fixture.file(number).isMapped)
    try fixture.check()
  }

  @Test("fsync saves so that it counts whatever follows", arguments: JournalKind.allCases)
  func fsync(kind: JournalKind) throws {
    let fixture = try FileFixture(over: kind)
    let tree = fixture.tree
    let (number, handle) = try fixture.create("a")
    try fixture.write(handle, "one")
    try tree.flush(handle)
    #expect(try fixture.file(number).saved?.isFirm == false)
    try tree.fsync(handle)
    #expect(try fixture.file(number).saved?.isFirm == true)
    try fixture.write(handle, "two")
    try tree.fsync(handle)
    try fixture.write(handle, "x")
    let file = try fixture.file(number)
    #expect(try fixture.savedText(number) == "two" && file.saved?.isFirm == true)
    let counted = try #require(file.counted)
    #expect(try fixture.bytes(of: counted.content) == Array("one".utf8))
    try fixture.check()
    try fixture.checkRestart()
  }

  @Test(
    "writes that append, or go to a file that was there, are steady; those to a new one are not")
  func steady() throws {
    let fixture = try FileFixture(["a": Array("old".utf8), "b": Array("old".utf8)])
    let tree = fixture.tree
    func isSteady(_ number: InodeNumber) throws -> Bool { try fixture.file(number).isSteady }
    let a = try fixture.number("a")
    let log = try tree.open(a, mode: [.write, .append]).handle
    try fixture.write(log, "x", at: 3)
    #expect(try isSteady(a))
    let emptier = try tree.open(a, mode: [.write, .truncate]).handle
    #expect(try !isSteady(a))
    try fixture.write(log, "x")
    #expect(try !isSteady(a))
    try tree.release(emptier)
    try tree.release(log)
    #expect(try fixture.file(a).saved?.isSteady == false)
    let b = try fixture.number("b")
    let database = try tree.open(b, mode: [.read, .write]).handle
    try fixture.write(database, "x")
    #expect(try isSteady(b))
    let (made, writer) = try fixture.create("c")
    try fixture.write(writer, "x")
    #expect(try !isSteady(made))
    let (appended, appender) = try fixture.create("d", [.write, .append])
    try fixture.write(appender, "x")
    #expect(try isSteady(appended))
    try fixture.check()
  }

  @Test("writes that pause for long enough are saved, sooner those of logs")
  func paused() throws {
    let fixture = try FileFixture(["log": Array("old".utf8)])
    let tree = fixture.tree
    let log = try fixture.number("log")
    try fixture.write(try tree.open(log, mode: [.write, .append]).handle, "new", at: 3)
    let (copy, writer) = try fixture.create("copy")
    try fixture.write(writer, "half")
    let (gone, orphan) = try fixture.create("gone")
    try fixture.write(orphan, "x")
    try fixture.unlink("gone")
    func pass(_ seconds: Int64) throws {
      var now = Attributes.Time.now
      now.seconds += seconds
      try tree.savePaused(at: now, settle: 2_000_000_000)
      try fixture.check()
    }
    try pass(1)
    #expect(Set(tree.unsavedFiles) == [log, copy])
    try pass(3)
    #expect(try fixture.savedText(log) == "oldnew")
    #expect(try fixture.file(log).saved?.isFirm == true)
    #expect(tree.unsavedFiles == [copy])
    try fixture.write(try tree.open(log, mode: [.write, .append]).handle, "er", at: 6)
    try pass(3)
    #expect(try fixture.savedText(log) == "oldnewer")
    #expect(tree.unsavedFiles == [copy])
    try pass(61)
    #expect(try fixture.savedText(copy) == "half")
    #expect(try fixture.file(gone).isUnsaved)
    #expect(tree.unsavedFiles == [])
  }

  @Test("the next pause is told to the nanosecond")
  func nextPause() throws {
    let fixture = try FileFixture(["log": [1]])
    let (tree, settle) = (fixture.tree, UInt64(2_999_999_999))
    #expect(tree.nextPause(settle: settle) == nil)
    let (_, writer) = try fixture.create("copy")
    try fixture.write(writer, "half")
    let copied = try #require(tree.nextPause(settle: settle))
    let log = try fixture.number("log")
    try fixture.write(try tree.open(log, mode: [.write, .append]).handle, "er", at: 1)
    let due = try #require(tree.nextPause(settle: settle))
    #expect(due < copied)
    #expect(try tree.status(of: log).mtime.nanoseconds(until: due) == settle)
    var before = due
    if before.nanoseconds > 0 { before.nanoseconds -= 1 } else { before.seconds -= 1 }
    try tree.savePaused(at: before, settle: settle)
    #expect(tree.unsavedFiles.contains(log))
    try tree.savePaused(at: due, settle: settle)
    #expect(!tree.unsavedFiles.contains(log))
    #expect(tree.nextPause(settle: settle) == copied)
  }
}
