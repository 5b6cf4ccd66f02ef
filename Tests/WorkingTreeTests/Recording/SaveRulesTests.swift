import LLVSCore
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Grammar
@testable import TreeNames
@testable import TreeSupport
@testable import WorkingTree

/// The saves that count, and what a cut takes: docs/writes.md, rules 1 to 5.
@Suite(.timeLimit(.minutes(2)))
struct SaveRulesTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// Lets more time pass than the 20 ms of `settle` without a write; the rules are about this time.
  func passQuiet() { SystemClock.sleep(nanoseconds: 40_000_000) }

  func mounted(settle: UInt64 = 3_600_000_000_000) throws -> MountedTree {
    var settings = StoreSettings()
    settings.settle = settle
    return try MountedTree(directory.path, settings: settings)
  }

  @Test("a flush of a handle that wrote saves; one of a handle that did not saves nothing")
  func flushes() throws {
    let mount = try mounted()
    let writer = try mount.create("f")
    let other = try mount.open("f", .write)
    try mount.write(writer, Array("one".utf8))
    try mount.close(other)
    #expect(try mount.cut().unsavedPaths == [Array("f".utf8)])
    #expect(try mount.head() == [:])
    try mount.tree.flush(writer)
    try mount.cut()
    #expect(try mount.head() == ["f": "one"])
    // Flushed, and the handle goes on: what follows waits for the next flush.
    try mount.write(writer, Array("two".utf8))
    #expect(try mount.cut().unsavedPaths == [Array("f".utf8)])
    #expect(try mount.head() == ["f": "one"])
    try mount.tree.fsync(writer)
    try mount.cut()
    #expect(try mount.head() == ["f": "two"])
    try mount.close(writer)
  }

  @Test("a file that is emptied by an open for reading is saved at once")
  func emptiedByReader() throws {
    let mount = try mounted()
    try mount.save("f", "text")
    try mount.cut()
    let handle = try mount.open("f", [.read, .truncate])
    #expect(try mount.cut().unsaved.isEmpty)
    #expect(try mount.head() == ["f": ""])
    try mount.close(handle)
  }

  @Test("emptying an empty file is a change of its times")
  func emptiedAgain() throws {
    let mount = try mounted()
    try mount.save("f", "")
    try mount.cut()
    let before = try mount.status("f")
    try mount.close(try mount.open("f", [.write, .truncate]))
    let after = try mount.status("f")
    #expect(after.mtime != before.mtime)
    #expect(after.ctime == after.mtime)
    // The same bytes are no version; who looks at the file still sees when it was written
    // (docs/writes.md, rule 4).
    #expect(try mount.cut().cut == nil)
    #expect(try mount.status("f").mtime == after.mtime)
  }

  @Test("what only emptied a file is saved by its second flush or its release")
  func emptied() throws {
    let mount = try mounted()
    try mount.save("f", "text")
    try mount.cut()
    let handle = try mount.open("f", [.write, .truncate])
    try mount.tree.flush(handle)
    try mount.cut()
    #expect(try mount.head() == ["f": "text"])
    try mount.tree.flush(handle)
    try mount.cut()
    #expect(try mount.head() == ["f": ""])
    try mount.tree.release(handle)
    let made = try mount.create("g")
    try mount.tree.flush(made)
    try mount.cut()
    #expect(try mount.head() == ["f": ""])
    try mount.tree.release(made)
    try mount.cut()
    #expect(try mount.head() == ["f": "", "g": ""])
  }

  @Test("a truncation by path is saved at once, unless somebody's bytes are unsaved")
  func truncation() throws {
    let mount = try mounted()
    try mount.save("f", "0123456789")
    try mount.change("f") { $0.size = 4 }
    try mount.cut()
    #expect(try mount.head() == ["f": "0123"])
    let handle = try mount.open("f", .write)
    try mount.write(handle, Array("ab".utf8))
    try mount.change("f") { $0.size = 3 }
    #expect(try mount.cut().unsaved.count == 1)
    #expect(try mount.head() == ["f": "0123"])
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.head() == ["f": "ab2"])
  }

  @Test("bytes from a mapping are saved by whichever writable handle is closed")
  func mapped() throws {
    let mount = try mounted()
    try mount.save("f", "0123")
    let mapper = try mount.open("f", [.read, .write])
    let other = try mount.open("f", [.read, .write])
    try mount.tree.flush(mapper)
    try [UInt8]("ab".utf8).withUnsafeBytes {
      try mount.tree.write(other, at: 0, $0, mapped: true)
    }
    #expect(try mount.cut().unsaved.count == 1)
    try mount.tree.release(mapper)
    try mount.cut()
    #expect(try mount.head() == ["f": "ab23"])
    try mount.close(other)
  }

  @Test("a log is saved when its writes pause; a file that is being made is not")
  func pauses() throws {
    let mount = try mounted(settle: 20_000_000)
    try mount.save("log", "a\n")
    let log = try mount.open("log", [.write, .append])
    let new = try mount.create("new")
    try mount.write(log, Array("b\n".utf8), at: 2)
    try mount.write(new, Array("half".utf8))
    passQuiet()
    #expect(try mount.cut(.quiet).unsavedPaths == [Array("new".utf8)])
    #expect(try mount.head() == ["log": "a\nb\n"])
    // As it stands at the overdue cut, though it is being written.
    try mount.write(log, Array("c\n".utf8), at: 4)
    try mount.cut(.overdue)
    #expect(try mount.head() == ["log": "a\nb\nc\n"])
    try mount.close(log)
    try mount.close(new)
  }

  @Test("what was left unsaved has paused since its last write, not since the last mount")
  func pauseOverMounts() throws {
    do {
      let mount = try mounted(settle: 20_000_000)
      try mount.write(try mount.create("old"), Array("left".utf8))
      try mount.write(try mount.create("new"), Array("half".utf8))
      let inode = try mount.inode("old")
      let now = Attributes.Time.now
      mount.tree.setTime(
        Attributes.Time(seconds: now.seconds - 61, nanoseconds: now.nanoseconds), of: inode)
      // The mount after the next finds what it left in the next one's first records.
      try mount.tree.beginJournalAnew()
    }
    try MountedTree(directory.path).tree.beginJournalAnew()
    let mount = try mounted(settle: 20_000_000)
    passQuiet()
    #expect(try mount.cut(.quiet).unsavedPaths == [Array("new".utf8)])
    #expect(try mount.head() == ["old": "left"])
  }

  @Test("a new log, made by who appends, is saved when its writes pause")
  func newLog() throws {
    let mount = try mounted(settle: 20_000_000)
    try mount.save("other", "0")
    let log = try mount.create("log", [.write, .append])
    passQuiet()
    // Nothing was written yet, so there is nothing to save.
    #expect(try mount.cut(.quiet).unsavedPaths == [Array("log".utf8)])
    try mount.write(log, Array("a\n".utf8))
    #expect(try mount.cut(.quiet).unsavedPaths == [Array("log".utf8)])
    passQuiet()
    #expect(try mount.cut(.quiet).unsaved.isEmpty)
    #expect(try mount.head() == ["log": "a\n", "other": "0"])
    try mount.write(log, Array("b\n".utf8), at: 2)
    passQuiet()
    try mount.cut(.quiet)
    #expect(try mount.head() == ["log": "a\nb\n", "other": "0"])
    try mount.close(log)
  }

  @Test("what else writes to a new log keeps it from being saved when writes pause")
  func newFileOfTwo() throws {
    let mount = try mounted(settle: 20_000_000)
    let new = try mount.create("new")
    let log = try mount.open("new", [.write, .append])
    try mount.write(log, Array("a\n".utf8))
    try mount.write(new, Array("half".utf8), at: 2)
    try mount.write(log, Array("b\n".utf8), at: 6)
    passQuiet()
    #expect(try mount.cut(.quiet).unsavedPaths == [Array("new".utf8)])
    try mount.close(new)
    try mount.close(log)
  }

  @Test("a save that is written on too soon counts only for a command")
  func brokenSave() throws {
    let mount = try mounted()
    let handle = try mount.create("f")
    try mount.write(handle, Array("one".utf8))
    try mount.tree.flush(handle)
    try mount.write(handle, Array("two".utf8))
    try mount.cut(.quiet)
    #expect(try mount.head() == [:])
    #expect(mount.text("f") == "two")
    try mount.cut(.command)
    #expect(try mount.head() == ["f": "one"])
    try mount.close(handle)
  }

  @Test("a save that had its quiet is taken while the file is written on")
  func countedSave() throws {
    let mount = try mounted(settle: 20_000_000)
    let handle = try mount.create("f")
    try mount.write(handle, Array("one".utf8))
    try mount.tree.flush(handle)
    passQuiet()
    try mount.write(handle, Array("two".utf8))
    try mount.cut(.quiet)
    #expect(try mount.head() == ["f": "one"])
    #expect(mount.text("f") == "two")
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.head() == ["f": "two"])
  }

  @Test("a command does not wait for the quiet that an overdue cut waits for")
  func overdueAndCommand() throws {
    let settle: UInt64 = 20_000_000_000
    let mount = try mounted(settle: settle)
    try mount.save("f", "one")
    let tree = mount.tree
    let isDone = Monitor(false)
    try SystemThread.detach {
      #expect(throws: Never.self) { try tree.cut(.overdue) }
      isDone.withLock { $0 = true }
      isDone.broadcast()
    }
    let began = SystemClock.monotonic()
    #expect(eventually { tree.isMakingVersion })
    try mount.save("g", "two")
    try mount.cut()
    #expect(try mount.head() == ["f": "one", "g": "two"])
    _ = isDone.wait { $0 ? true : nil }
    #expect(SystemClock.monotonic() - began < settle)
  }

  @Test("a save broken between an overdue cut's mark and its version does not count")
  func brokenAfterMark() async throws {
    let mount = try mounted(settle: 3_000_000_000)
    try mount.save("f", "zero")
    try mount.cut()
    let handle = try mount.open("f", [.write, .truncate])
    try mount.write(handle, Array("one".utf8))
    try mount.tree.flush(handle)
    let tree = mount.tree
    try SystemThread.detach {
      // Into the middle of the quiet that the cut below waits for.
      SystemClock.sleep(nanoseconds: 100_000_000)
      try? Array("two".utf8).withUnsafeBytes { try tree.write(handle, at: 0, $0) }
    }
    try mount.cut(.overdue)
    #expect(try mount.head() == ["f": "zero"])
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.head() == ["f": "two"])
    #expect(try mount.store.state().lastNumber == 2)
  }

  @Test("a save that came to count while a version was made counts in the next one")
  func countedMeanwhile() throws {
    let mount = try mounted(settle: 100_000_000)
    try mount.save("f", "one")
    try mount.save("g", "one")
    try mount.cut()
    try mount.save("f", "two")
    let handle = try mount.open("f", .write)
    _ = try mount.tree.transition(.command, headReason: .cut) { _, head in
      // The plan has "two" by now; this is what programs do until the version is installed.
      do {
        try mount.write(handle, Array("three".utf8))
        try mount.tree.flush(handle)
        try mount.save("g", "three")
        // Longer than `settle`, so that the saves of "three" count.
        SystemClock.sleep(nanoseconds: 150_000_000)
        try mount.write(handle, Array("four!".utf8))
      } catch {
        Issue.record(error)
      }
      return head
    }
    #expect(try mount.head() == ["f": "two", "g": "one"])
    try mount.tree.flush(handle)
    try mount.write(handle, Array("five!".utf8))
    try mount.cut(.quiet)
    #expect(try mount.head() == ["f": "three", "g": "three"])
    #expect(mount.text("f") == "five!")
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.head() == ["f": "five!", "g": "three"])
  }

  @Test("while a file that was never saved stands under a name, versions keep what it held")
  func neverSaved() throws {
    let mount = try mounted()
    try mount.save("f", "old")
    try mount.cut()
    let handle = try mount.create("tmp")
    try mount.write(handle, Array("new".utf8))
    try mount.rename("tmp", "f")
    try mount.save("other", "x")
    try mount.cut()
    #expect(try mount.head() == ["f": "old", "other": "x"])
    #expect(mount.text("f") == "new")
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.head() == ["f": "new", "other": "x"])
  }

  @Test("a file whose last name went is never taken, whoever still writes it")
  func unlinked() throws {
    let mount = try mounted()
    let handle = try mount.create("f")
    try mount.write(handle, Array("x".utf8))
    try mount.unlink("f")
    try mount.write(handle, Array("y".utf8))
    try mount.tree.flush(handle)
    try mount.cut()
    #expect(try mount.head() == [:])
    #expect(try mount.bytes(ofInode: handle.inode) == Array("y".utf8))
    try mount.tree.release(handle)
    #expect(mount.tree.isForgotten)
  }

  @Test("save by rename is an update, and what was made and went never existed")
  func netEffect() throws {
    let mount = try mounted()
    try mount.makeDirectory("d")
    try mount.save("d/f", "one")
    try mount.cut()
    try mount.save("d/.f.tmp", "two")
    try mount.rename("d/.f.tmp", "d/f")
    try mount.save("d/gone", "x")
    try mount.unlink("d/gone")
    #expect(mount.tree.pending().removed == 0)
    let outcome = try mount.cut()
    #expect(outcome.summary.changed == 1 && outcome.summary.new == 0)
    #expect(outcome.summary.removed == 0)
    #expect(try mount.head() == ["d/": "", "d/f": "two"])
  }

  @Test("the same bytes and attributes are no version, but a time that was set is")
  func sameBytes() throws {
    let mount = try mounted()
    try mount.save("f", "text")
    try mount.makeDirectory("d")
    let first = try mount.cut().head?.number
    try mount.save("f", "text")
    try mount.change("f") { $0.mode = 0o600 }
    try mount.change("f") { $0.mode = 0o644 }
    try mount.save("tmp", "text")
    try mount.rename("tmp", "f")
    try mount.rename("d", "e")
    try mount.rename("e", "d")
    #expect(try mount.cut().head?.number == first)
    let time = Attributes.Time(seconds: 1_000_000_000, nanoseconds: 5)
    try mount.change("f") { $0.mtime = time }
    #expect(try mount.cut().head?.number != first)
    #expect(try mount.entry("f")?.attributes.mtime == time)
    #expect(try mount.status("f").mtime == time)
  }

  @Test("a file written with the bytes it had shows when, until a newer time is recorded")
  func shownTime() throws {
    let mount = try mounted()
    try mount.save("f", "text")
    try mount.cut()
    let recorded = try mount.entry("f")?.attributes.mtime
    try mount.save("f", "text")
    let written = try mount.status("f").mtime
    #expect(written != recorded)
    #expect(try mount.cut().cut == nil)
    #expect(try mount.status("f").mtime == written)
    // Not by another name's version, nor by other attributes.
    try mount.save("g", "other")
    try mount.change("f") { $0.mode = 0o600 }
    #expect(try mount.cut().cut != nil)
    #expect(try mount.status("f").mtime == written)
    #expect(try mount.entry("f")?.attributes.mtime == recorded)
    try mount.save("f", "more")
    let later = try mount.status("f").mtime
    try mount.cut()
    #expect(try mount.status("f").mtime == later)
    #expect(try mount.entry("f")?.attributes.mtime == later)
    let time = Attributes.Time(seconds: 1_000_000_000, nanoseconds: 5)
    try mount.save("f", "more")
    try mount.change("f") { $0.mtime = time }
    try mount.cut()
    #expect(try mount.status("f").mtime == time)
  }

  @Test("a file written with the bytes it had shows when, also if it changes while the cut is made")
  func shownTimeOfChanged() throws {
    let mount = try mounted()
    try mount.save("f", "text")
    try mount.cut()
    try mount.save("f", "text")
    let written = try mount.status("f").mtime
    try mount.save("g", String(repeating: "other", count: 9999))
    let isDone = Mutex(false)
    nonisolated(unsafe) let changed = mount
    let watch = Faults.watch(below: mount.path + "/segments") { call, _ in
      // The plan is made by the time that the store is synced.
      guard call == .sync else { return }
      guard
        isDone.withLock({ done in
          let was = done; done = true; return !was
        })
      else { return }
      try? changed.change("f") { $0.mode = 0o600 }
    }
    try mount.cut()
    Faults.unwatch(watch)
    #expect(isDone.withLock { $0 })
    #expect(try mount.status("f").mtime == written)
    #expect(try mount.cut().cut != nil)
    #expect(try mount.entry("f")?.attributes.mode == 0o600)
    #expect(try mount.status("f").mtime == written)
  }

  @Test("a file replaced by one of the same bytes keeps the new one's number for good")
  func renumbered() throws {
    let mount = try mounted()
    try mount.save("f", "text")
    try mount.cut()
    try mount.save("tmp", "text")
    let inode = try mount.inode("tmp")
    try mount.rename("tmp", "f")
    try mount.cut()
    #expect(try mount.inode("f") == inode)
    try mount.save("g", "x")
    try mount.cut()
    #expect(try mount.inode("f") == inode)
  }

  @Test("a directory's time is recorded when it is set, and goes when names in it come or go")
  func directoryTime() throws {
    let mount = try mounted()
    try mount.makeDirectory("d")
    try mount.save("d/f", "x")
    try mount.cut()
    #expect(try mount.entry("d")?.attributes.mtime == nil)
    let time = Attributes.Time(seconds: 1_000_000_000, nanoseconds: 0)
    try mount.change("d") { $0.mtime = time }
    try mount.cut()
    #expect(try mount.entry("d")?.attributes.mtime == time)
    try mount.save("d/tmp", "y")
    try mount.rename("d/tmp", "d/f")
    try mount.cut()
    #expect(try mount.entry("d")?.attributes.mtime == time)
    try mount.save("d/g", "y")
    try mount.cut()
    #expect(try mount.entry("d")?.attributes.mtime == nil)
    try mount.change("d") { $0.mtime = time }
    try mount.cut()
    try mount.unlink("d/g")
    try mount.cut()
    #expect(try mount.entry("d")?.attributes.mtime == nil)
  }

  @Test("a time set before further bytes stays with the bytes that were saved")
  func timeBeforeWrite() throws {
    let mount = try mounted()
    try mount.save("f", "text")
    try mount.cut()
    let time = Attributes.Time(seconds: 1_000_000_000, nanoseconds: 0)
    try mount.change("f") { $0.mtime = time }
    let handle = try mount.open("f", .write)
    try mount.write(handle, Array("TEXT".utf8))
    try mount.cut()
    #expect(try mount.entry("f")?.attributes.mtime == time)
    #expect(try mount.head() == ["f": "text"])
    try mount.close(handle)
    try mount.cut()
    #expect(try mount.entry("f")?.attributes.mtime != time)
  }
}
