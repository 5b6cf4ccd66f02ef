import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Scratch whose pattern went without a decision of a person (docs/mounted-tree.md, rule 12).
@Suite("Scratch that no pattern matches any more", .timeLimit(.minutes(2)))
struct LostPatternTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork
  /// The version without patterns.
  private let bare: VersionNumber

  /// `x.env` and `build` are scratch by `.llvsignore`; `y` and `p/f` are versioned, and `p/z.env` is not.
  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path)
    try work.makeDirectory("p")
    try work.save("p/f", "one")
    try work.save("y", "one")
    try work.cut()
    bare = try #require(try work.store.state().head)
    try work.save(".llvsignore", "*.env\nbuild/\n/p/only\n")
    try work.cut()
    try work.makeDirectory("build")
    try work.save("build/o", "obj")
    for name in ["x.env", "p/z.env", "p/only"] { try work.save(name, "secret") }
    try work.cut()
    #expect(try recorded() == ["y", "p/f", ".llvsignore"])
  }

  private func recorded() throws -> Set<String> {
    Set(try work.recordedTexts().compactMapValues(\.self).keys)
  }

  /// Makes a version, and expects that it has no scratch and that programs see all of it.
  private func expectKeptOut(
    _ work: TreeAtWork? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let work = work ?? self.work
    for _ in 0..<2 {
      try work.cut()
      try work.check()
    }
    let names = try work.recordedTexts().compactMapValues(\.self).keys
    let secrets = names.filter {
      $0.hasSuffix(".env") || $0.contains("only") || $0.contains("build")
    }
    #expect(secrets == [], sourceLocation: sourceLocation)
    let texts = try work.texts()
    #expect(texts["x.env"] == "secret" && texts["build/o"] == "obj", sourceLocation: sourceLocation)
    #expect(try work.tree.statedPlace(of: try work.number("x.env")).state == .scratch)
  }

  @Test(
    "A head without the pattern does not let a version have it", arguments: [nil, "*.other\n"])
  func merged(text: String?) throws {
    try work.merge(try work.others([".llvsignore": text]))
    try expectKeptOut()
    #expect(try work.texts()["p/z.env"] == "secret")
    try work.save("build/p", "made later")
    try work.save("new.env", "no secret")
    try work.cut()
    #expect(try work.recordedTexts()["new.env"] == "no secret")
    #expect(try work.recordedTexts()["build/p"] == nil)
    #expect(
      Set(try work.tree.scratchWithoutPattern().map { String(decoding: $0.bytes, as: UTF8.self) })
        == ["x.env", "build", "p/z.env", "p/only"])
  }

  @Test("It was made in the moment before the head")
  func late() throws {
    let other = try work.others([".llvsignore": nil])
    try work.save("late.env", "secret")
    try work.merge(other)
    try expectKeptOut()
    #expect(try work.texts()["late.env"] == "secret")
    #expect(try work.recordedTexts()["late.env"] == nil)
  }

  @Test("A switch, an undo or a restore to a version without the pattern, and back")
  func switched() throws {
    let after = try #require(try work.store.state().head)
    for _ in 0..<2 {
      try work.go(to: bare)
      try expectKeptOut()
      try work.go(to: after)
      try expectKeptOut()
      #expect(try work.tree.scratchWithoutPattern().isEmpty)
    }
  }

  @Test("The patterns' file is removed, moved away or replaced here", arguments: 0..<4)
  func removed(way: Int) throws {
    switch way {
    case 0: try work.unlink(".llvsignore")
    case 1: try work.rename(".llvsignore", "p/.llvsignore")
    case 2: try work.rename(".llvsignore", ".llvsignore.bak")
    default:
      try work.unlink(".llvsignore")
      try work.makeDirectory(".llvsignore")
    }
    try work.save("late.env", "secret")
    #expect(
      try work.tree.pendingPaths(atMost: 9)?.contains { $0.path.name.text == "late.env" } == false)
    try expectKeptOut()
    #expect(try work.recordedTexts()["late.env"] == nil)
    guard way == 2 else { return }
    // An editor's new file.
    try work.save(".llvsignore", "*.env\nbuild/\n/p/only\n# more\n")
    try expectKeptOut()
    #expect(try work.tree.scratchWithoutPattern().isEmpty)
  }

  @Test("A directory goes with its patterns")
  func directoryOfPatterns() throws {
    try work.save("p/.llvsignore", "key\n")
    try work.cut()
    try work.save("p/key", "secret")
    try work.cut()
    try work.merge(try work.others(["p/.llvsignore": nil, "p/f": nil, ".llvsignore": nil]))
    try expectKeptOut()
    #expect(try work.texts()["p/key"] == "secret")
    #expect(try work.recordedTexts()["p/key"] == nil)
    try work.merge(try work.others(["p/f": "again"]))
    try expectKeptOut()
    #expect(try work.texts()["p/key"] == "secret")
    #expect(try work.texts()["p/f"] == "again")
    #expect(try work.recordedTexts()["p/key"] == nil)
  }

  @Test("Another file comes at its name")
  func taken() throws {
    try work.merge(try work.others([".llvsignore": nil]))
    try work.merge(try work.others(["x.env": "theirs"]))
    try work.cut()
    #expect(try work.texts()["x.env"] == "secret")
    #expect(try work.texts()["%llvs%x.env"] == "theirs")
    try work.merge(try work.others(["x.env": nil]))
    try expectKeptOut()
  }

  @Test("Programs save it by rename, or remove it and make it again", arguments: [false, true])
  func saved(isRenamed: Bool) throws {
    try work.merge(try work.others([".llvsignore": nil]))
    if isRenamed {
      try work.save("p/tmp", "secret")
      try work.rename("p/tmp", "x.env")
    } else {
      try work.rename("x.env", "x.env~")
      try work.save("x.env", "secret")
      try work.unlink("x.env~")
    }
    try expectKeptOut()
  }

  @Test("A person puts it into versions", arguments: ["x.env", "build"])
  func tracked(path: String) throws {
    try work.merge(try work.others([".llvsignore": nil]))
    try expectKeptOut()
    try work.tree.track(TreePath(path.utf8))
    try work.cut()
    try work.check()
    #expect(try recorded() == ["y", "p/f", path == "build" ? "build/o" : path])
    #expect(try work.texts()["%llvs%\(path)"] == nil)
    #expect(try work.texts()["x.env"] == "secret")
    #expect(throws: FSError.self) { try work.tree.track(TreePath("y".utf8)) }
  }

  @Test("A rename to a name that no pattern matches puts it into versions")
  func renamed() throws {
    try work.merge(try work.others([".llvsignore": nil]))
    try work.rename("x.env", "x")
    try work.cut()
    #expect(try recorded() == ["y", "p/f", "x"])
  }

  @Test(
    "It stays scratch after a new mount, a kill and a renewed journal", arguments: [false, true])
  func remounts(isRenewed: Bool) throws {
    try work.merge(try work.others([".llvsignore": nil]))
    if isRenewed { _ = try work.tree.renewJournal(isForced: true) }
    let copy = "\(directory.path)/copy"
    try copyTree(directory.path, to: copy)
    try expectKeptOut(try TreeAtWork(copy))
  }

  @Test("A head comes while nothing is mounted", arguments: [false, true])
  func unmounted(isLate: Bool) throws {
    if isLate { try work.save("x.env", "secret") }
    let copy = "\(directory.path)/copy"
    try copyTree(directory.path, to: copy)
    do {
      let store = try Store.open(path: "\(copy)/store")
      try store.write { (transaction) throws(StoreError) in
        try transaction.setHead(
          bare, map: try transaction.version(bare)?.map, reason: .switched(to: "there"))
      }
    }
    try expectKeptOut(try TreeAtWork(copy))
  }

  @Test("A kill comes before the rows of the head are written")
  func owed() throws {
    let held = try TemporaryDirectory(inMemory: true)
    for isRemoval in [false, true] {
      let path = "\(held.path)/\(isRemoval)"
      try copyTree(directory.path, to: path)
      let again = try TreeAtWork(path, longCut: 0, isHeld: true)
      if isRemoval {
        try again.unlink(".llvsignore")
        try again.versioner.transition(CutRequest(.command))
        try copyTree(path, to: path + "-killed")
        again.writeRows()
        try expectKeptOut(try TreeAtWork(path + "-killed"))
      } else {
        try again.merge(try again.others([".llvsignore": nil]))
        again.writeRows()
        try expectKeptOut(again)
      }
    }
  }

  // Patterns that no version has.

  /// Ways in which a saved file of patterns goes.
  enum Way: CaseIterable {
    case unlink, move, moveUp, replace, exchange, overwrite, truncate, directory
  }

  private func lose(_ file: String, _ way: Way, _ work: TreeAtWork? = nil) throws {
    let work = work ?? self.work
    switch way {
    case .unlink: try work.unlink(file)
    case .move: try work.rename(file, "moved")
    case .moveUp: try work.rename(file, "p/.llvsignore")
    case .replace:
      try work.save("new", "*.other\n")
      try work.rename("new", file)
    case .exchange:
      try work.save("new", "*.other\n")
      try work.rename("new", file, .exchange)
    case .overwrite: try work.save(file, "*.other\n")
    case .truncate: try work.tree.resize(try work.number(file), to: 3)
    case .directory:
      try work.unlink(file)
      try work.makeDirectory(file)
    }
  }

  @Test(
    "The patterns' file was saved and is in no version", arguments: Way.allCases, [false, true])
  func unversioned(way: Way, isKilled: Bool) throws {
    try work.makeDirectory("q")
    try work.makeDirectory("q/keys")
    try work.save("q/.llvsignore", "*.key\nkeys/\n")
    try work.save("q/a.key", "secret")
    try work.save("q/keys/only", "secret")
    try lose("q/.llvsignore", way)
    guard isKilled else { return try expectNoKeys(work) }
    let copy = "\(directory.path)/copy"
    try copyTree(directory.path, to: copy)
    try expectNoKeys(try TreeAtWork(copy))
  }

  private func expectNoKeys(_ work: TreeAtWork) throws {
    try expectKeptOut(work)
    let names = try work.recordedTexts().compactMapValues(\.self).keys
    #expect(names.filter { $0.contains("key") } == [])
    #expect(try work.texts()["q/a.key"] == "secret" && work.texts()["q/keys/only"] == "secret")
    // A program saves it again.
    try work.rename("q/a.key", "q/a.key~")
    try work.save("q/a.key", "secret")
    try work.unlink("q/a.key~")
    try expectKeptOut(work)
    #expect(try work.recordedTexts()["q/a.key"] == nil)
    try work.tree.track(TreePath("q/a.key".utf8))
    try work.cut()
    try work.check()
    #expect(try work.recordedTexts()["q/a.key"] == "secret")
  }

  @Test("The patterns' file is in a version, and nothing of it is pending", arguments: Way.allCases)
  func versioned(way: Way) throws {
    let copy = "\(directory.path)/copy"
    try copyTree(directory.path, to: copy)
    let again = try TreeAtWork(copy)
    try lose(".llvsignore", way, again)
    try expectKeptOut(again)
  }

  @Test("A line of a versioned file is in no version", arguments: Way.allCases)
  func line(way: Way) throws {
    try work.save(".llvsignore", "*.env\nbuild/\n/p/only\n*.key\n")
    try work.save("a.key", "secret")
    try lose(".llvsignore", way)
    try expectKeptOut()
    #expect(try work.recordedTexts()["a.key"] == nil && work.texts()["a.key"] == "secret")
  }

  @Test("A person takes a line out, and puts it back", arguments: [false, true])
  func edited(isCut: Bool) throws {
    try work.save(".llvsignore", "build/\n/p/only\n")
    if isCut { try expectKeptOut() }
    #expect(
      Set(try work.tree.scratchWithoutPattern().map { String(decoding: $0.bytes, as: UTF8.self) })
        == ["x.env", "p/z.env"])
    try work.save("new.env", "no secret")
    try work.cut()
    #expect(try work.recordedTexts()["new.env"] == "no secret")
    try work.unlink("new.env")
    try work.save(".llvsignore", "*.env\nbuild/\n/p/only\n")
    #expect(try work.tree.scratchWithoutPattern().isEmpty)
    #expect(work.tree.pending.namesAside.isEmpty)
    try expectKeptOut()
  }

  @Test("The file is written line by line, and what no line matched is in the next version")
  func lineByLine() throws {
    try work.save("p/.llvsignore", "*.log\n")
    try work.save("p/.llvsignore", "*.log\n!keep.log\n")
    try work.save("p/keep.log", "kept")
    try work.save("p/a.log", "scratch")
    try work.cut()
    #expect(try work.recordedTexts()["p/keep.log"] == "kept")
    #expect(try work.recordedTexts()["p/a.log"] == nil)
  }

  @Test("A program has emptied the file and not saved it yet", arguments: [false, true])
  func emptied(isMoved: Bool) throws {
    let file = isMoved ? "p/.llvsignore" : ".llvsignore"
    if isMoved {
      try work.save("p/patterns", "*.env\n")
      try work.cut()
      try work.rename("p/patterns", file)
    }
    let (_, handle) = try work.open(file, emptying: true)
    try work.save("p/late.env", "secret")
    try expectKeptOut()
    #expect(try work.recordedTexts()["p/late.env"] == nil)
    try work.close(handle)
    try expectKeptOut()
    #expect(try work.recordedTexts()["p/late.env"] == nil)
  }

  @Test("A file of patterns that is scratch itself loses its pattern, and its own patterns hold")
  func ignoredItself() throws {
    try work.save(".llvsignore", "*.env\nbuild/\n/p/only\n/p/.llvsignore\n")
    try work.cut()
    try work.save("p/.llvsignore", "*.key\n")
    try work.save("p/a.key", "secret")
    try work.cut()
    try work.merge(try work.others([".llvsignore": "*.env\nbuild/\n/p/only\n"]))
    try work.save("p/b.key", "secret")
    for _ in 0..<2 {
      try expectKeptOut()
      let names = try work.recordedTexts().compactMapValues(\.self).keys
      #expect(names.filter { $0.hasSuffix("key") || $0 == "p/.llvsignore" } == [])
      #expect(
        try work.tree.reasonToIgnore(TreePath("p/b.key".utf8), isDirectory: false)?.line == 1)
      try work.save(".llvsignore", "*.env\nbuild/\n/p/only\n# more\n")
    }
    try work.unlink("p/.llvsignore")
    try expectKeptOut()
    #expect(try work.recordedTexts()["p/b.key"] == nil)
  }

  @Test("The store's own patterns change", arguments: [false, true])
  func own(isKilled: Bool) throws {
    try work.tree.setIgnore(IgnorePatterns(Array("*.key\n".utf8)))
    try work.save("a.key", "secret")
    try work.tree.setIgnore(IgnorePatterns([]))
    var work = work
    if isKilled {
      try copyTree(directory.path, to: "\(directory.path)/copy")
      work = try TreeAtWork("\(directory.path)/copy")
    }
    try expectKeptOut(work)
    #expect(try work.recordedTexts()["a.key"] == nil && work.texts()["a.key"] == "secret")
    try work.tree.setIgnore(IgnorePatterns(Array("*.key\n".utf8)))
    #expect(work.tree.pending.namesAside.isEmpty)
  }
}
