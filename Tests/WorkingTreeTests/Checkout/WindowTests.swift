import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// The rules of the recorder (their numbers stand there), where programs and others change the same.
@Suite(.timeLimit(.minutes(2)))
struct WindowTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path)
  }

  /// Saves files and cuts; returns the head.
  @discardableResult
  private func start(_ files: [String: String]) throws -> VersionNumber {
    for (path, text) in files.sorted(by: { $0.key < $1.key }) {
      let above = path.split(separator: "/").dropLast().joined(separator: "/")
      if !above.isEmpty, (try? work.number(above)) == nil { try work.makeDirectory(above) }
      try work.save(path, text)
    }
    return try #require(try work.cut().head?.number)
  }

  /// Merges what others changed, while programs do something that has not seen it.
  private func merge(
    _ values: [String: String?], on base: VersionNumber, meanwhile body: @escaping () throws -> Void
  ) throws {
    let other = try work.others(values, on: base)
    var failure: (any Error)?
    _ = try work.versioner.transition(CutRequest(.command)) {
      transaction, head throws(StoreError) in
      do {
        try body()
      } catch {
        failure = error
      }
      return try transaction.mergeSides([head, other].compactMap(\.self), live: head).outcome
    }
    if let failure { throw failure }
    try work.check()
  }

  /// Everything is pending no longer; returns the tree, which is the head's.
  private func settled() throws -> [String: String?] {
    for _ in 0..<3 { try work.cut() }
    try work.check()
    #expect(work.tree.pending.changes.isEmpty)
    let texts = try work.texts()
    #expect(try work.recordedTexts() == texts)
    return texts
  }

  @Test("C1: nothing is taken below a directory that was removed here")
  func removedAbove() throws {
    let first = try start(["d/f": "one"])
    let (_, handle) = try work.open("d/f")
    // Others replace the file, so what is saved in it belongs at its name, until that is removed.
    try work.merge(try work.others(["d/f": "theirs"], on: first))
    try work.unlink("d/f")
    try work.removeDirectory("d")
    try work.write("two", through: handle)
    try work.tree.fsync(handle)
    let texts = try settled()
    #expect(texts.isEmpty, "\(texts)")
    try work.close(handle)
  }

  @Test(
    "C3: a file without a save leaves its name what the version has, though that went elsewhere")
  func unsavedOver() throws {
    try start(["f": "one", "d/g": "two"])
    try work.rename("f", "elsewhere")
    let (_, file) = try work.open("f")
    try work.write("new", through: file)
    try work.rename("d", "moved")
    let (_, other) = try work.open("d")
    try work.write("also new", through: other)
    try work.cut()
    try work.check()
    let recorded: [String: String?] = [
      "f": "one", "elsewhere": "one", "moved": nil, "moved/g": "two",
    ]
    #expect(try work.recordedTexts() == recorded)
    #expect(
      try work.texts() == [
        "f": "new", "elsewhere": "one", "d": "also new", "moved": nil, "moved/g": "two",
      ])
    try work.close(file)
    try work.close(other)
    #expect(try settled()["f"] == "new")
  }

  @Test("C5: a removal keeps what others added, and a move what they changed")
  func othersStay() throws {
    let first = try start(["d/a": "a", "d/b": "b", "e/c": "c"])
    try merge(["d/new": "theirs", "e/c": "c of others"], on: first) {
      try work.rename("d", "moved")
      try work.unlink("e/c")
    }
    let texts = try settled()
    #expect(texts["moved/a"] == "a")
    #expect(texts["moved/b"] == "b")
    #expect(texts.values.contains("theirs"))
    #expect(texts.values.contains("c of others"))
  }

  @Test("the kernel is notified of names in a directory that a version joins with the head's")
  func joinedDirectory() throws {
    let first = try start(["f": "file", "e/y": "here", "d/x": "there"])
    try merge(["f": nil, "d/x": nil, "f/x": "there"], on: first) {
      try work.rename("f", "t")
      try work.rename("e", "f")
      try work.rename("t", "e")
    }
    for _ in 0..<3 {
      let seen = try work.seenNames()
      try work.cut()
      #expect(try work.namesWithoutNotice(since: seen) == [])
    }
    #expect(try settled()["f/x"] == "there")
  }

  /// What a program makes at the name of a directory that it moved away.
  enum Newcomer: CaseIterable { case file, unsaved, directory, other }

  @Test(
    "A displaced file keeps the name by which programs see it if they make something at its own",
    arguments: Newcomer.allCases, [false, true])
  func overDisplaced(newcomer: Newcomer, isOpen: Bool) throws {
    try start(["c/x": "x", "o": "o"])
    try work.merge(try work.others(["c": "displaced"]))
    let displaced = try #require(try work.shown()["%llvs%c"])
    let reader = isOpen ? try work.tree.open(displaced.number, mode: .read).handle : nil
    try work.rename("c", "b")
    var handle: HandleNumber?
    if newcomer == .unsaved {
      handle = try work.open("c").1
      try work.write("new", through: try #require(handle))
    }
    try merge(["o": "theirs"], on: try #require(try work.store.state().head)) {
      switch newcomer {
      case .file: try work.save("c", "new")
      case .directory: try work.makeDirectory("c")
      case .other: try work.rename("o", "c")
      case .unsaved: break
      }
    }
    #expect(try work.shown()["%llvs%c"] == displaced)
    if let handle { try work.close(handle) }
    if let reader { try work.close(reader) }
    let texts = try settled()
    #expect(texts["%llvs%c"] == "displaced")
    #expect(texts["b/x"] == "x")
    #expect(texts.keys.contains("c"))
  }

  @Test("A directory that is made while the rows of a head wait is the one that the head brings")
  func madeLate() throws {
    let first = try start(["f": "one"])
    let other = try work.others(["d/e/theirs": "theirs", "d/g": "theirs too"], on: first)
    let failure = Monitor<(any Error)?>(nil)
    let isDone = Monitor(false)
    let work = work
    // The record of the cut is synced when the rows are there and nobody sees them yet.
    let watch = Faults.watch(below: directory.file("journal")) { call, phase in
      guard call == .sync, phase == .before,
        isDone.withLock({ isDone in
          defer { isDone = true }
          return !isDone
        })
      else { return }
      do {
        try work.makeDirectory("d")
        try work.makeDirectory("d/e")
        try work.save("d/e/mine", "mine")
      } catch {
        failure.withLock { $0 = error }
      }
    }
    try work.merge(other)
    Faults.unwatch(watch)
    if let failure = failure.withLock({ $0 }) { throw failure }
    #expect(isDone.withLock { $0 })
    try work.check()
    let all: [String: String?] = [
      "f": "one", "d": nil, "d/e": nil, "d/e/theirs": "theirs", "d/g": "theirs too",
      "d/e/mine": "mine",
    ]
    #expect(try work.texts() == all)
    #expect(try settled() == all)
  }

  @Test("C6: a change that others did not touch is made on the head")
  func onTheHead() throws {
    let first = try start(["a": "a", "b": "b"])
    try merge(["a": "theirs"], on: first) { try work.save("b", "mine") }
    let head = try #require(try work.store.state().head)
    let outcome = try work.cut()
    let made = try #require(outcome.head)
    #expect(made.first == head)
    #expect(made.second == nil)
    #expect(try settled() == ["a": "theirs", "b": "mine"])
  }

  @Test("C6: one that they touched is made on what its writer had seen, and merged")
  func onWhatWasSeen() throws {
    let first = try start(["a": "a", "b": "b"])
    try merge(["a": "theirs"], on: first) { try work.save("a", "mine") }
    let head = try #require(try work.store.state().head)
    let outcome = try work.cut()
    let made = try #require(outcome.head)
    #expect(made.first == head || made.second == head)
    #expect(made.second != nil)
    let side = try #require(made.first == head ? made.second : made.first)
    #expect(try work.store.version(side)?.first == first)
    #expect(try work.recordedTexts()["b"] == "b")
    try work.check()
  }

  @Test("C7: what is saved in a moved directory goes with the move")
  func movesTogether() throws {
    let first = try start(["d/a": "a", "d/b": "b"])
    try merge(["d/b": "theirs"], on: first) {
      try work.rename("d", "moved")
      try work.save("moved/a", "mine")
      try work.save("d", "a file now")
    }
    let texts = try settled()
    #expect(texts["moved/a"] == "mine")
    #expect(texts.values.contains("theirs"))
    #expect(texts.values.contains("a file now"))
  }

  @Test("C8: what is saved in several files that lost one name is a version each")
  func severalOrphans() throws {
    var base = try start(["f": "one", "g": "g"])
    var handles: [HandleNumber] = []
    for text in ["two", "three"] {
      handles.append(try work.open("f").1)
      base = try work.others(["f": text], on: base)
      try work.merge(base)
    }
    let before = work.store.lastNumber
    for (index, handle) in handles.enumerated() {
      try work.write("saved \(index)", through: handle)
      try work.close(handle)
    }
    try work.cut()
    try work.check()
    // Each has a version, and what comes of them is merged.
    #expect(work.store.lastNumber >= before + 4)
    var found: Set<String> = []
    for number in (before + 1)...work.store.lastNumber {
      let record = try #require(try work.store.version(VersionNumber(number)))
      let entry = try work.store.map(of: record).entry(at: KeyCoding.key(ofPath: Array("f".utf8)))
      if record.second == nil, let entry {
        found.insert(String(decoding: work.store.readable(entry.stored), as: UTF8.self))
      }
    }
    #expect(found == ["saved 0", "saved 1"])
  }

  @Test("C10: keys below a moved directory change their beginning, a name that stays keeps its key")
  func keys() throws {
    try start(["top": "t"])
    let base = try #require(try work.store.state().head)
    try work.merge(try work.others(["a": "behind", "a/x": "x"], on: base))
    let displaced = try #require(try work.texts().first { $0.value == "behind" }?.key)
    #expect(displaced != "a")
    try work.save(displaced, "behind, edited")
    try work.cut()
    let head = try #require(try work.store.state().head.flatMap { try work.store.version($0) })
    let entry = try work.store.map(of: head).entry(at: KeyCoding.key(ofPath: Array("a".utf8)))
    #expect(entry.map { work.store.readable($0.stored) } == Array("behind, edited".utf8))
    try work.rename("a", "z")
    let keys = try work.cut().head.map { try work.store.modelMap(of: work.store.map(of: $0)).keys }
    #expect(keys?.contains("z/x") == true)
    #expect(keys?.contains("a/x") == false)
    try work.check()
  }

  @Test("C11: all names of a file have one entry, and a directory's time goes when names change")
  func links() throws {
    try start(["d/f": "one"])
    try work.link("d/f", "g")
    try work.cut()
    try work.check()
    #expect(try work.number("d/f") == work.number("g"))
    try work.save("g", "two")
    try work.cut()
    try work.check()
    let head = try #require(try work.store.state().head.flatMap { try work.store.version($0) })
    let map = work.store.map(of: head)
    let entries = try ["d/f", "g"].map { path in
      try #require(try map.entry(at: KeyCoding.key(ofPath: Array(path.utf8))))
    }
    #expect(entries[0].stored == entries[1].stored)
    #expect(entries[0].attributes == entries[1].attributes)
    #expect(entries[0].attributes.linkID != nil)
    #expect(try work.recordedTexts() == ["d": nil, "d/f": "two", "g": "two"])
  }

  @Test(
    "A directory that others removed stays for what is pending in it, and goes when that is gone")
  func held() throws {
    let first = try start(["x": "x"])
    try start(["d/f": "one"])
    let (_, handle) = try work.open("d/new")
    try work.write("unsaved", through: handle)
    try work.go(to: first)
    try work.check()
    try work.cut()
    #expect(try work.texts() == ["x": "x", "d": nil, "d/new": "unsaved"])
    #expect(try work.recordedTexts() == ["x": "x"])
    let directory = try work.place("d")
    try work.unlink("d/new")
    try work.close(handle)
    work.told.withLock { $0 = [] }
    let outcome = try work.cut()
    try work.check()
    #expect(!outcome.isNew)
    #expect(try work.texts() == ["x": "x"])
    #expect(work.told.withLock { $0 }.flatMap(\.notices).contains(.name(directory)))
  }

  @Test(
    "What a program makes in a cut's window where a moved directory hid a file takes nothing from it",
    arguments: [false, true])
  func madeOverReturned(isDirectory: Bool) throws {
    let first = try start(["o": "o", "c/f": "one"])
    // The directory has the name; the file is shown by another.
    try work.merge(try work.others(["c": "hidden"], on: first))
    #expect(try work.texts().values.contains("hidden"))
    var failure: (any Error)?
    try work.rename("c", "d")
    _ = try work.versioner.transition(CutRequest(.command)) { _, head throws(StoreError) in
      do {
        if isDirectory { try work.makeDirectory("c") }
        try work.save(isDirectory ? "c/n" : "c", "new")
      } catch {
        failure = error
      }
      return head
    }
    if let failure { throw failure }
    try work.check()
    let texts = try settled()
    #expect(texts["d/f"] == "one")
    #expect(texts[isDirectory ? "c/n" : "c"] == "new")
    #expect(texts.values.contains("hidden"), "\(texts)")
  }
}
