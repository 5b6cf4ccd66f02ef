import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Scratch whose name a head has (docs/mounted-tree.md, rule 12).
@Suite("Scratch and what comes at its name", .timeLimit(.minutes(2)))
struct ScratchNameTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork
  private static let patterns = "*.env\nbuild/\n"

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path, ignore: IgnorePatterns(Array(Self.patterns.utf8)))
    try work.save("a", "one")
    try work.cut()
  }

  private func texts() throws -> [String: String] { try work.texts().compactMapValues(\.self) }

  private func recorded() throws -> [String: String] {
    try work.recordedTexts().compactMapValues(\.self)
  }

  /// Makes a version and expects the head unchanged.
  private func expectNothingTaken() throws {
    let before = try work.store.state().head
    try work.cut()
    try work.check()
    #expect(try work.store.state().head == before)
  }

  /// `x.env` is scratch with a secret, and another machine made a file of that name.
  private func bringFile() throws {
    try work.save("x.env", "secret")
    try work.cut()
    try work.merge(try work.others(["x.env": "theirs"]))
    try work.check()
  }

  @Test("What comes is shown escaped next to it, and both keep their bytes")
  func file() throws {
    try bringFile()
    let both = ["a": "one", "x.env": "secret", "%llvs%x.env": "theirs"]
    #expect(try texts() == both)
    #expect(try recorded() == ["a": "one", "x.env": "theirs"])
    try work.save("x.env", "another secret")
    try expectNothingTaken()
    #expect(try recorded()["x.env"] == "theirs")
    #expect(try texts()["x.env"] == "another secret")
    let found = try work.tree.hidingScratch()
    #expect(found.map(\.path) == [TreePath("x.env".utf8)])
    #expect(found.map(\.shown) == [TreePath("%llvs%x.env".utf8)])
    #expect(try work.tree.statedPlace(of: try work.number("x.env")).state == .scratch)
    #expect(try work.tree.statedPlace(of: try work.number("%llvs%x.env")).state == .committed)
  }

  @Test("It was made in the moment before the head", arguments: [false, true])
  func late(isCut: Bool) throws {
    let other = try work.others(["x.env": "theirs"])
    try work.save("x.env", "secret")
    if isCut { try work.cut() }
    try work.merge(other)
    try expectNothingTaken()
    #expect(try texts() == ["a": "one", "x.env": "secret", "%llvs%x.env": "theirs"])
  }

  @Test("Without it, what came has its name", arguments: [false, true])
  func removed(isRenamed: Bool) throws {
    try bringFile()
    if isRenamed { try work.rename("x.env", "mine.env") } else { try work.unlink("x.env") }
    #expect(try texts()["x.env"] == nil)
    #expect(try texts()["%llvs%x.env"] == "theirs")
    work.told.withLock { $0 = [] }
    try expectNothingTaken()
    let told = work.told.withLock { $0 }.flatMap(\.notices)
    #expect(told.contains(.name(try work.place("x.env"))) && told.contains(.listing(.root)))
    #expect(try texts()["x.env"] == "theirs")
    #expect(try texts()["%llvs%x.env"] == nil)
    #expect(try texts()["mine.env"] == (isRenamed ? "secret" : nil))
    try expectNothingTaken()
    try work.save("x.env", "edited")
    try work.cut()
    #expect(try recorded() == ["a": "one", "x.env": "edited"])
  }

  @Test("Scratch that is removed or moved away and made again stays scratch", arguments: 0..<4)
  func madeAgain(way: Int) throws {
    try bringFile()
    if way == 3 { try work.tree.setIgnore(IgnorePatterns([])) }
    if way == 0 { try work.unlink("x.env") } else { try work.rename("x.env", "x.env~") }
    if way == 2 { try work.rename("x.env~", "x.env") } else { try work.save("x.env", "new secret") }
    try work.cut()
    try work.check()
    #expect(try recorded()["x.env"] == "theirs")
    #expect(try texts()["x.env"] == (way == 2 ? "secret" : "new secret"))
    #expect(try texts()["%llvs%x.env"] == "theirs")
  }

  @Test("Patterns hold while a program writes their file anew", arguments: [false, true])
  func patternsRewritten(isReplaced: Bool) throws {
    try work.save(".llvsignore", "*.key\n")
    try work.cut()
    try work.save("x.key", "secret")
    if isReplaced { try work.unlink(".llvsignore") }
    let (_, handle) = try work.open(".llvsignore", emptying: true)
    for _ in 0..<2 {
      try work.cut()
      #expect(try recorded() == ["a": "one", ".llvsignore": "*.key\n"])
    }
    try work.write("*.key\n# more\n", through: handle)
    try work.cut()
    try work.close(handle)
    try work.cut()
    try work.check()
    #expect(try recorded() == ["a": "one", ".llvsignore": "*.key\n# more\n"])
  }

  @Test("A change of what came at its escaped name is a change of its own name")
  func edited() throws {
    try bringFile()
    try work.save("%llvs%x.env", "edited")
    try work.cut()
    try work.check()
    #expect(try recorded() == ["a": "one", "x.env": "edited"])
    try work.save("new", "saved by rename")
    try work.rename("new", "%llvs%x.env")
    try work.cut()
    #expect(try recorded() == ["a": "one", "x.env": "saved by rename"])
    #expect(
      try texts() == ["a": "one", "x.env": "secret", "%llvs%x.env": "saved by rename"])
  }

  @Test("What came is removed or renamed at its escaped name", arguments: [false, true])
  func came(isRenamed: Bool) throws {
    try bringFile()
    if isRenamed {
      try work.rename("%llvs%x.env", "y")
    } else {
      try work.unlink("%llvs%x.env")
    }
    #expect(try texts()["x.env"] == "secret")
    try work.cut()
    try work.check()
    #expect(try recorded() == (isRenamed ? ["a": "one", "y": "theirs"] : ["a": "one"]))
    try expectNothingTaken()
    #expect(try texts()["x.env"] == "secret")
    #expect(try work.tree.hidingScratch().isEmpty)
    // It is plain scratch again, which patterns decide about.
    try work.rename("x.env", "x")
    try work.cut()
    #expect(try recorded()["x"] == "secret")
  }

  @Test("A file that replaces it by rename stays scratch")
  func replaced() throws {
    try bringFile()
    try work.save("x.env.tmp", "new secret")
    try work.rename("x.env.tmp", "x.env")
    try work.cut()
    try work.check()
    #expect(try recorded() == ["a": "one", "x.env": "theirs"])
    #expect(try texts() == ["a": "one", "x.env": "new secret", "%llvs%x.env": "theirs"])
  }

  @Test("It keeps its name when the other side changes or removes what came")
  func changes() throws {
    try bringFile()
    try work.merge(try work.others(["x.env": "changed"]))
    try work.check()
    #expect(try texts() == ["a": "one", "x.env": "secret", "%llvs%x.env": "changed"])
    try work.merge(try work.others(["x.env": nil]))
    try work.check()
    #expect(try texts() == ["a": "one", "x.env": "secret"])
    try expectNothingTaken()
    try work.merge(try work.others(["x.env": "again"]))
    #expect(try texts() == ["a": "one", "x.env": "secret", "%llvs%x.env": "again"])
  }

  @Test("It stays scratch after the pattern is gone, while something else has the name")
  func patternGoes() throws {
    try bringFile()
    try work.tree.setIgnore(IgnorePatterns([]))
    try expectNothingTaken()
    #expect(try texts() == ["a": "one", "x.env": "secret", "%llvs%x.env": "theirs"])
  }

  @Test("A directory comes at the name of a scratch file")
  func directoryOverFile() throws {
    try work.save("x.env", "secret")
    try work.cut()
    try work.merge(try work.others(["x.env/f": "theirs"]))
    try work.check()
    #expect(try texts() == ["a": "one", "x.env": "secret", "%llvs%x.env/f": "theirs"])
    try expectNothingTaken()
    try work.save("%llvs%x.env/f", "edited")
    try work.cut()
    #expect(try recorded() == ["a": "one", "x.env/f": "edited"])
    try work.unlink("x.env")
    try expectNothingTaken()
    #expect(try texts() == ["a": "one", "x.env/f": "edited"])
  }

  @Test("A file comes at the name of a scratch directory")
  func fileOverDirectory() throws {
    try work.makeDirectory("build")
    try work.save("build/o", "obj")
    try work.cut()
    try work.merge(try work.others(["build": "theirs"]))
    try work.check()
    #expect(try texts() == ["a": "one", "build/o": "obj", "%llvs%build": "theirs"])
    try work.save("build/p", "obj")
    try expectNothingTaken()
    for name in ["o", "p"] { try work.unlink("build/\(name)") }
    try work.removeDirectory("build")
    try expectNothingTaken()
    #expect(try texts() == ["a": "one", "build": "theirs"])
  }

  @Test("Files that come into a scratch directory do not replace its files")
  func directories() throws {
    try work.makeDirectory("build")
    try work.save("build/o", "mine")
    try work.cut()
    try work.merge(try work.others(["build/o": "theirs", "build/p": "theirs"]))
    try work.check()
    let both = [
      "a": "one", "build/o": "mine", "build/%llvs%build%2Fo": "theirs", "build/p": "theirs",
    ]
    #expect(try texts() == both)
    try expectNothingTaken()
    #expect(try recorded() == ["a": "one", "build/o": "theirs", "build/p": "theirs"])
    try work.rename("build", "made")
    #expect(try texts()["made/%llvs%made%2Fo"] == "theirs")
    try work.cut()
    try work.check()
    #expect(try recorded() == ["a": "one", "made/o": "theirs", "made/p": "theirs"])
  }

  @Test(
    "A file comes where a directory had files of versions and scratch", arguments: [false, true])
  func directoryOfScratch(hasUnsaved: Bool) throws {
    try work.save("lib", "theirs")
    try work.cut()
    let before = try #require(try work.store.state().head)
    try work.unlink("lib")
    try work.makeDirectory("lib")
    try work.save("lib/x", "one")
    try work.cut()
    try work.makeDirectory("lib/build")
    try work.save("lib/build/o", "obj")
    if hasUnsaved {
      // A file for versions keeps the directory until the file is removed.
      let (_, handle) = try work.open("lib/y")
      try work.write("mine", through: handle)
      try work.go(to: before)
      #expect(try texts() == ["a": "one", "lib/build/o": "obj", "lib/y": "mine"])
      try work.unlink("lib/y")
      try work.close(handle)
      try work.cut()
    } else {
      try work.go(to: before)
    }
    try work.check()
    #expect(try texts() == ["a": "one", "lib/build/o": "obj", "%llvs%lib": "theirs"])
    try expectNothingTaken()
    try work.unlink("lib/build/o")
    try work.removeDirectory("lib/build")
    try work.removeDirectory("lib")
    try expectNothingTaken()
    #expect(try texts() == ["a": "one", "lib": "theirs"])
  }

  @Test("After a switch that takes away what came and back, it has its name")
  func switches() throws {
    let before = try #require(try work.store.state().head)
    try bringFile()
    let after = try #require(try work.store.state().head)
    for _ in 0..<2 {
      try work.go(to: before)
      try work.check()
      #expect(try texts() == ["a": "one", "x.env": "secret"])
      try work.go(to: after)
      try work.check()
      #expect(try texts() == ["a": "one", "x.env": "secret", "%llvs%x.env": "theirs"])
    }
    try expectNothingTaken()
  }

  @Test(
    "It stays scratch after a new mount, a kill and a renewed journal", arguments: [false, true])
  func remounts(isRenewed: Bool) throws {
    try bringFile()
    if isRenewed { _ = try work.tree.renewJournal(isForced: true) }
    let copy = "\(directory.path)/copy"
    try copyTree(directory.path, to: copy)
    let again = try TreeAtWork(copy, ignore: IgnorePatterns(Array(Self.patterns.utf8)))
    let both = ["a": "one", "x.env": "secret", "%llvs%x.env": "theirs"]
    #expect(try again.texts() == both)
    try again.cut()
    try again.check()
    #expect(try again.texts() == both)
    #expect(try again.recordedTexts() == ["a": "one", "x.env": "theirs"])
  }

  @Test("A long name keeps its place")
  func longName() throws {
    let name = String(repeating: "n", count: 251) + ".env"
    try work.save(name, "secret")
    try work.cut()
    try work.merge(try work.others([name: "theirs"]))
    try work.check()
    let escaped = try #require(try texts().keys.first { $0.hasPrefix("%llvs%") })
    #expect(try texts() == ["a": "one", name: "secret", escaped: "theirs"])
    try work.save(escaped, "edited")
    try work.cut()
    #expect(try recorded()[name] == "edited")
  }

  @Test("A directory moves into scratch only as a copy")
  func directoryIntoScratch() throws {
    try work.makeDirectory("build")
    try work.makeDirectory("d")
    try work.save("d/f", "one")
    try work.cut()
    try work.merge(try work.others(["build": "theirs"]))
    for target in ["build", "build/d"] {
      #expect {
        try work.rename("d", target)
      } throws: {
        if case .crossDevice? = $0 as? FSError { true } else { false }
      }
    }
    try work.rename("d/f", "build/f")
    try work.cut()
    #expect(try recorded() == ["a": "one", "build": "theirs"])
    #expect(try texts() == ["a": "one", "build/f": "one", "%llvs%build": "theirs"])
  }
}
