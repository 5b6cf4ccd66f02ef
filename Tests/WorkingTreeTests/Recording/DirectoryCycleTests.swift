import LLVSCore
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// A program moves a directory into another while a new head comes that has the other one inside the first.
@Suite("Directories that would be inside each other", .timeLimit(.minutes(1)))
struct DirectoryCycleTests {
  let mount: MountedTree
  let directory: TemporaryDirectory
  let first: VersionNumber?

  init() throws {
    directory = try TemporaryDirectory()
    mount = try MountedTree(directory.path)
    for path in ["outer", "outer/inner", "other"] { try mount.makeDirectory(path) }
    try mount.save("outer/file", "outer's")
    try mount.save("outer/inner/file", "inner's")
    try mount.cut()
    first = try mount.store.state().head
    try mount.rename("outer/inner", "other/inner")
  }

  /// Goes back to the first version; a program works after the cut and before that version is shown.
  private func goBack(_ program: () throws -> Void) throws {
    _ = try mount.tree.transition(.command, headReason: .other("restore")) { _, _ in
      #expect(throws: Never.self) { try program() }
      return first
    }
    #expect(try mount.tree.fault() == nil)
  }

  private func expectAll() throws {
    for _ in 0..<2 {
      #expect(mount.text("outer/file") == "outer's")
      #expect(mount.text("outer/inner/file") == "inner's")
      try mount.cut()
      #expect(try mount.tree.fault() == nil)
    }
    let head = try mount.head()
    #expect(head["outer/file"] == "outer's")
    #expect(head["outer/inner/file"] == "inner's")
  }

  @Test("The directory that was moved stands where the head has it, with all that is in it")
  func moved() throws {
    try goBack {
      try mount.rename("outer", "other/inner/outer")
      try mount.save("other/inner/outer/new", "new")
    }
    try expectAll()
    #expect(try mount.head()["outer/new"] == "new")
  }

  @Test("A directory that was made at its name meanwhile becomes the same one")
  func madeAnew() throws {
    try goBack {
      try mount.rename("outer", "other/inner/outer")
      try mount.makeDirectory("outer")
      try mount.save("outer/new", "new")
    }
    try expectAll()
    #expect(try mount.head()["outer/new"] == "new")
  }

  @Test("Where a file has taken its name meanwhile, the directory has a name beside it")
  func replaced() throws {
    try goBack {
      try mount.rename("outer", "other/inner/outer")
      try mount.save("outer", "a file")
    }
    #expect(mount.text("outer") == "a file")
    #expect(mount.text("outer~1/file") == "outer's")
    #expect(mount.text("outer~1/inner/file") == "inner's")
    // The program had not seen the first version come back: its changes go into a version beside that.
    try mount.cut()
    try expectAll()
    let beside = try mount.version(try mount.store.version(VersionNumber(3)))
    #expect(beside["outer"] == "a file")
    #expect(beside["outer~1/file"] == "outer's")
    #expect(beside["other/inner/file"] == "inner's")
  }

  @Test("An exchange with a file is taken back")
  func exchanged() throws {
    try mount.save("other/inner/plain", "plain")
    try mount.cut()
    let second = try mount.store.state().head
    try mount.rename("other/inner", "outer/inner")
    _ = try mount.tree.transition(.command, headReason: .other("restore")) { _, _ in
      #expect(throws: Never.self) { try mount.rename("other", "outer/inner/plain", .exchange) }
      return second
    }
    for _ in 0..<2 {
      #expect(try mount.tree.fault() == nil)
      #expect(mount.text("outer/file") == "outer's")
      #expect(mount.text("other/inner/file") == "inner's")
      #expect(mount.text("other/inner/plain") == "plain")
      try mount.cut()
    }
    #expect(try mount.head()["other/inner/plain"] == "plain")
  }

  @Test("A kill after that finds the same")
  func killed() throws {
    try goBack { try mount.rename("outer", "other/inner/outer") }
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, to: copy.file("s"))
    let again = try MountedTree(copy.path)
    #expect(again.recovery.losses == [])
    #expect(again.text("outer/file") == "outer's")
    #expect(again.text("outer/inner/file") == "inner's")
    try expectAll()
  }
}
