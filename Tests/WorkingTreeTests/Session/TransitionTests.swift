import Inodes
import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Cuts and other heads under a working tree over a real store, one step after the other.
@Suite(.timeLimit(.minutes(2)))
struct TransitionTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path)
  }

  @Test("A cut makes a version of what is saved, and changes nothing for programs")
  func cut() throws {
    try work.makeDirectory("d")
    try work.save("d/a", "one")
    try work.save("b", "two")
    let before = try work.shown()
    let outcome = try work.cut()
    #expect(outcome.isNew)
    #expect(outcome.summary.new == 3)
    #expect(try work.shown() == before)
    #expect(try work.recordedTexts() == before.mapValues(\.text))
    #expect(work.tree.pending.changes.isEmpty)
    #expect(work.told.withLock { $0.isEmpty })
    try work.check()
  }

  @Test("A cut with nothing to take makes no version")
  func nothing() throws {
    try work.save("a", "one")
    let first = try work.cut()
    let second = try work.cut()
    #expect(!second.isNew)
    #expect(second.head?.number == first.head?.number)
    try work.check()
  }

  @Test("A long cut does not wait for its rows, and the next transition does")
  func answersEarly() throws {
    DatabaseFaults.install()
    let directory = try TemporaryDirectory()
    let work = try TreeAtWork(directory.path, longCut: 2)
    try work.save("a", "one")
    try work.cut()
    #expect(work.tree.pending.changes.isEmpty)
    try work.save("a", "two")
    try work.save("b", "two")
    let isHeld = Monitor(true)
    let token = Faults.watch(below: directory.file("tree.sqlite")) { call, _ in
      guard call == .write else { return }
      _ = isHeld.wait { $0 ? nil : true }
    }
    defer { Faults.unwatch(token) }
    let head = try work.versioner.transition(CutRequest(.command)).head
    #expect(head?.number == (try work.store.state().head))
    #expect(work.versioner.unshownHead?.number == head?.number)
    #expect(work.tree.pending.changes.map(\.key.name.text) == ["b"])
    #expect(try work.texts() == ["a": "two", "b": "two"])
    work.versioner.awaitShown(nanoseconds: 1_000_000)
    #expect(work.versioner.unshownHead != nil)
    isHeld.withLock { $0 = false }
    isHeld.broadcast()
    #expect(try !work.cut().isNew)
    #expect(work.versioner.unshownHead == nil)
    #expect(work.tree.pending.changes.isEmpty)
    try work.check()
  }

  @Test("Files that the kernel knows are not pending after a cut, and live on without a name")
  func known() throws {
    for name in ["a", "b"] { try work.save(name, "one") }
    let place = try work.place("a")
    let number = try work.tree.lookup(place.directory, place.name).number
    try work.cut()
    #expect(work.tree.pending.nodes.isEmpty)
    try work.merge(work.others(["a": nil]))
    #expect(try work.tree.status(of: number).links == 0)
    #expect(try work.text(of: number) == "one")
    try work.check()
    work.tree.forget(number, count: 1)
    #expect(work.tree.pending.nodes.isEmpty)
  }

  @Test("What is in a directory keeps its number when that moves into new ones")
  func movedIntoNew() throws {
    for path in ["d", "d/e"] { try work.makeDirectory(path) }
    try work.save("d/e/a", "one")
    try work.cut()
    for path in ["new", "new/inner"] { try work.makeDirectory(path) }
    try work.rename("d", "new/inner/d")
    let paths = ["new", "new/inner", "new/inner/d", "new/inner/d/e", "new/inner/d/e/a"]
    let before = try paths.map { try work.number($0) }
    try work.cut()
    #expect(try paths.map { try work.number($0) } == before)
    try work.check()
  }

  @Test("A directory that was removed and made again has the number that programs saw")
  func madeAgain() throws {
    for path in ["d", "e", "e/f"] { try work.makeDirectory(path) }
    for path in ["d/a", "e/f/b"] { try work.save(path, "one") }
    try work.cut()
    try work.unlink("d/a")
    try work.removeDirectory("d")
    try work.makeDirectory("d")
    try work.save("d/a", "one")
    try work.rename("e", "d/e")
    let paths = ["d", "d/a", "d/e", "d/e/f", "d/e/f/b"]
    let before = try paths.map { try work.number($0) }
    try work.cut()
    #expect(try paths.map { try work.number($0) } == before)
    try work.check()
  }

  @Test("A directory that replaces one in a directory that moved has the number that programs saw")
  func replacedInMoved() throws {
    for path in ["a", "a/d"] { try work.makeDirectory(path) }
    try work.cut()
    try work.rename("a", "b")
    try work.makeDirectory("n")
    try work.save("n/x", "one")
    try work.rename("n", "b/d")
    let paths = ["b", "b/d", "b/d/x"]
    let before = try paths.map { try work.number($0) }
    try work.cut()
    #expect(try paths.map { try work.number($0) } == before)
    try work.check()
  }

  @Test("An edit that a cut takes and the next head takes back leaves the file with its editor")
  func takenBack() throws {
    try work.save("a", "one")
    let first = try #require(try work.cut().head?.number)
    let (number, handle) = try work.open("a", emptying: true)
    try work.write("two", through: handle)
    try work.tree.flush(handle)
    // The recorded tree shows at the name what the head has.
    try work.go(to: first)
    #expect(try work.texts() == ["a": "one"])
    #expect(try work.number("a") != number)
    #expect(try work.text(of: number) == "two")
    let names = work.told.withLock { $0 }.flatMap(\.notices).compactMap { notice -> String? in
      guard case .name(let place) = notice else { return nil }
      return place.name.text
    }
    #expect(names == ["a"])
    try work.close(handle)
    try work.check()
  }

  @Test("A file that takes a directory's name has it, whatever moved out of the directory")
  func fileForDirectory() throws {
    for path in ["e", "e/q", "e/q/d", "f"] { try work.makeDirectory(path) }
    try work.save("e/q/d/x", "one")
    try work.cut()
    try work.rename("e/q/d", "f/d")
    try work.removeDirectory("e/q")
    try work.removeDirectory("e")
    try work.save("e", "two")
    try work.cut()
    #expect(try work.texts() == ["e": "two", "f": nil, "f/d": nil, "f/d/x": "one"])
    try work.check()
  }

  @Test("Directories that change places take along what is in them now, and nothing else")
  func exchanged() throws {
    for path in ["b", "b/a", "b/d", "b/d/a", "b/d/a/x"] { try work.makeDirectory(path) }
    try work.save("b/a/f", "one")
    try work.save("b/d/a/x/g", "two")
    try work.cut()
    try work.rename("b/a", "b/d", .exchange)
    try work.rename("b/a/a/x", "b/x")
    try work.cut()
    let paths = ["b", "b/a", "b/a/a", "b/d", "b/d/f", "b/x", "b/x/g"]
    #expect(try work.texts().keys.sorted() == paths)
    try work.check()
  }

  @Test(
    "A version has the journal of a database of the same instant, also one that was never saved",
    arguments: ["x-journal", "x-wal", "x.new"])
  func companion(name: String) throws {
    try work.save("x", "one")
    try work.save(name, "of one")
    try work.cut()
    try work.unlink(name)
    try work.save("x", "two")
    let (_, handle) = try work.open(name)
    try work.write("of two", through: handle)
    try work.cut()
    #expect(
      try work.recordedTexts().compactMapValues(\.self)
        == ["x": "two", name: name == "x.new" ? "of one" : "of two"])
    try work.close(handle)
    try work.cut()
    #expect(try work.recordedTexts() == ["x": "two", name: "of two"])
    try work.check()
  }

  @Test("A merge shows what others made, and the kernel is told of the names")
  func merge() throws {
    try work.save("mine", "one")
    let first = try #require(try work.cut().head?.number)
    let other = try work.others(["theirs": "two", "mine": nil], on: first)
    try work.save("new", "three")
    try work.merge(other)
    #expect(try work.texts() == ["theirs": "two", "new": "three"])
    let names = work.told.withLock { $0 }.flatMap(\.notices).compactMap { notice -> String? in
      guard case .name(let place) = notice else { return nil }
      return place.name.text
    }
    #expect(names.sorted() == ["mine", "theirs"])
    let shown = work.told.withLock { $0 }.flatMap(\.shown)
    #expect(shown.map { $0.path.name.text }.sorted() == ["mine", "theirs"])
    try work.check()
  }

  @Test("Other bytes have another number, and a file that is open keeps its own")
  func numbers() throws {
    try work.save("f", "one")
    let first = try #require(try work.cut().head?.number)
    let (number, handle) = try work.open("f")
    let other = try work.others(["f": "two"], on: first)
    try work.merge(other)
    #expect(try work.number("f") != number)
    #expect(try work.text(of: number) == "one")
    try work.write("ONE", through: handle)
    try work.close(handle)
    #expect(try work.texts() == ["f": "two"])
    try work.check()
    // The bytes that were saved in it go into a version beside the head, and is merged.
    try work.cut()
    #expect(try #require(try work.texts()["f"])?.contains("ONE") == true)
    try work.check()
  }

  @Test("What programs change during a cut stays pending")
  func during() throws {
    try work.save("a", "one")
    try work.versioner.transition(CutRequest(.command)) { (_, head) throws(StoreError) in
      try? work.save("b", "two")
      try? work.save("a", "three")
      return head
    }
    #expect(try work.texts() == ["a": "three", "b": "two"])
    #expect(try work.recordedTexts() == ["a": "one"])
    try work.check()
    try work.cut()
    #expect(try work.recordedTexts() == ["a": "three", "b": "two"])
    try work.check()
  }

  @Test("A transition that fails before the store commits leaves everything as it was")
  func failing() throws {
    try work.save("a", "one")
    try work.cut()
    try work.save("b", "two")
    let before = try work.shown()
    #expect(throws: StoreError.self) {
      try work.versioner.transition(CutRequest(.command)) { (_, _) throws(StoreError) in
        throw .cancelled
      }
    }
    #expect(try work.shown() == before)
    #expect(try work.recordedTexts() == ["a": "one"])
    try work.check()
    try work.cut()
    #expect(try work.recordedTexts() == ["a": "one", "b": "two"])
  }

  @Test("The same bytes, saved again, make no version and are pending no longer")
  func sameBytes() throws {
    try work.save("a", "one")
    let first = try work.cut()
    try work.save("a", "one")
    let second = try work.cut()
    #expect(second.head?.number == first.head?.number)
    #expect(work.tree.pending.nodes.isEmpty)
    try work.check()
  }

  @Test("A switch to an older version and back shows each")
  func switches() throws {
    try work.makeDirectory("d")
    try work.save("d/a", "one")
    let first = try #require(try work.cut().head?.number)
    try work.save("d/a", "two")
    try work.save("d/b", "three")
    let second = try #require(try work.cut().head?.number)
    try work.go(to: first)
    #expect(try work.texts() == ["d": nil, "d/a": "one"])
    try work.check()
    try work.go(to: second)
    #expect(try work.texts() == ["d": nil, "d/a": "two", "d/b": "three"])
    try work.check()
  }

  @Test("After a restart the tree is what it was, with the same numbers")
  func restart() throws {
    try work.makeDirectory("d")
    try work.save("d/a", "one")
    try work.cut()
    try work.save("d/b", "two")
    try work.rename("d/a", "c")
    let before = try work.shown()
    let path = directory.file("copy")
    try copyTree(directory.path, to: path)
    let again = try TreeAtWork(path)
    #expect(again.opened.losses == [])
    #expect(try again.shown() == before)
    try again.check()
    try again.cut()
    #expect(try again.recordedTexts() == before.mapValues(\.text))
  }

  @Test("A kill after a renewal within a cut takes back nothing that followed the cut's instant")
  func renewedWithin() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path, longCut: 0, isHeld: true)
    for name in ["d", "e"] { try work.makeDirectory(name) }
    try work.save("d/a", "one")
    try work.cut()
    try work.save("d/b", "two")
    var failure: (any Error)?
    _ = try work.versioner.transition(CutRequest(.command)) { (_, head) throws(StoreError) in
      do {
        try work.rename("d", "e", .exchange)
        _ = try work.tree.renewJournal(isForced: true)
      } catch {
        failure = error
      }
      return head
    }
    if let failure { throw failure }
    // The store has the version, the rows are not written.
    let path = directory.file("copy")
    try copyTree(directory.path, to: path)
    let again = try TreeAtWork(path)
    #expect(again.opened.losses == [])
    #expect(try again.shown() == work.shown())
    #expect(try again.statuses() == work.statuses())
    try again.check()
    try work.check()
  }

  @Test(
    "What came into another directory under the same path keeps its number",
    arguments: [false, true], [false, true])
  func samePath(isFile: Bool, isOverFile: Bool) throws {
    for path in ["f", "e"] { try work.makeDirectory(path) }
    for (path, isFile) in [("f/d", isFile), ("e/d", isOverFile)] {
      if isFile { try work.save(path, path) } else { try work.makeDirectory(path) }
    }
    if !isFile { try work.save("f/d/a", "two") }
    try work.cut()
    try work.rename("f/d", "e/d", .exchange)
    try work.rename("f", "e", .exchange)
    if !isFile { try work.rename("e", "f/d/c") }
    let before = try work.shown()
    try work.cut()
    try work.check()
    #expect(try work.shown() == before)
  }

  @Test(
    "A merge moves no time of a directory in which an unsaved file has a name",
    arguments: [false, true])
  func unsavedNames(isMoved: Bool) throws {
    for path in ["p", "x"] { try work.makeDirectory(path) }
    try work.save("x/z", "one")
    let first = try #require(try work.cut().head?.number)
    let other = try work.others(["theirs": "two"], on: first)
    let (_, handle) = try work.open("p/n", emptying: true)
    try work.rename("p/n", "x/z", .exchange)
    if isMoved { try work.rename("p", "q") }
    var before = try work.statuses()
    try work.merge(other)
    var after = try work.statuses()
    // The root has a name of the others.
    for path in ["", "theirs"] { (before[path], after[path]) = (nil, nil) }
    #expect(after == before)
    try work.close(handle)
    try work.check()
  }

  @Test("Rows that are gone are made anew, with the numbers of what is pending")
  func lostRows() throws {
    try work.makeDirectory("d")
    try work.save("d/a", "one")
    try work.save("d/b", "one b")
    try work.cut()
    let (_, handle) = try work.open("d/a")
    try work.write("two", through: handle)
    try work.close(handle)
    let before = try work.shown()
    let path = directory.file("copy")
    try copyTree(directory.path, to: path, leavingOut: "tree.sqlite")
    let again = try TreeAtWork(path)
    #expect(again.opened.losses == [])
    let after = try again.shown()
    #expect(after.mapValues(\.text) == before.mapValues(\.text))
    #expect(after["d"] == before["d"])
    #expect(after["d/a"] == before["d/a"])
    try again.check()
  }
}
