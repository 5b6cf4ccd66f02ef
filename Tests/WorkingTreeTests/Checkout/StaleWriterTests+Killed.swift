import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Grammar
@testable import TreeSupport
@testable import WorkingTree

/// What is written through handles of files that merges replaced is there after a kill, and counts once the
/// writes pause.
extension StaleWriterTests {
  /// The store as a kill leaves it, mounted again; saves count as soon as their writes pause.
  private func killed(_ body: (MountedTree) throws -> Void) throws {
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, to: copy.file("s"))
    var settings = StoreSettings()
    settings.settle = 1
    let again = try MountedTree(copy.path, settings: settings)
    #expect(again.recovery.losses == [])
    try body(again)
  }

  private func hurry() { mount.settle(1) }

  @Test("What was saved through the old file of a name before it was given away is in a version")
  func killedAfterRename() throws {
    let handle = try open("f", [.read, .write], by: editor)
    try retrieve(Self.there)
    try mount.write(handle, Array(Self.here.utf8))
    try mount.tree.flush(handle)
    try mount.rename("f", "f2")
    let after = ["f": Self.here, "f2": Self.there, "g": "g"]
    for _ in 0..<2 {
      try killed { mount in
        for _ in 0..<2 {
          try mount.cut()
          #expect(try mount.head() == after)
        }
      }
      try mount.cut()
      #expect(try mount.head() == after)
    }
    try mount.close(handle)
  }

  @Test("What was written and not saved through a replaced file's handle is there after a kill")
  func killedUnsaved() throws {
    let handle = try open("f", [.read, .write], by: editor)
    try retrieve(Self.there)
    try mount.write(handle, Array(Self.here.utf8))
    // Twice: the second time from what the first mount wrote of it.
    let copy = try TemporaryDirectory()
    try killed { mount in
      #expect(mount.tree.nextCut() != nil)
      try copyTree(mount.path, to: copy.file("s"))
    }
    #expect(try MountedTree(copy.path).tree.nextCut() != nil)
    try killed { mount in
      try mount.cut()
      #expect(try mount.head()["f"] == Self.both)
      #expect(mount.text("f") == Self.both)
      #expect(try mount.cut().cut == nil)
      #expect(mount.tree.orphanCount == 0)
    }
    try mount.close(handle)
  }

  @Test("So is what was written through the handle of a file that a merge removed")
  func killedRemoved() throws {
    let handle = try open("f", [.read, .write], by: editor)
    try retrieveRemoval(of: ["f"])
    try mount.write(handle, Array(Self.here.utf8))
    try killed { mount in
      try mount.cut()
      #expect(try mount.head()["f"] == Self.here)
      #expect(mount.text("f") == Self.here)
    }
    try mount.close(handle)
  }

  @Test("A log's lines count when they pause, also where a merge gave its name to another file")
  func logReplaced() throws {
    let handle = try open("f", [.write, .append], by: editor)
    try retrieve(Self.there)
    try mount.write(handle, Array("five\n".utf8), at: 19)
    #expect(try mount.cut().cut == nil)
    hurry()
    try mount.cut()
    #expect(try mount.head()["f"]?.hasSuffix("five\n") == true)
    try mount.write(handle, Array("six\n".utf8), at: 24)
    try mount.cut()
    #expect(try mount.head()["f"]?.hasSuffix("five\nsix\n") == true)
    #expect(try mount.cut().cut == nil)
    try mount.close(handle)
    #expect(try mount.cut().cut == nil)
  }

  @Test("A file that somebody emptied and has not saved waits for its pause over a kill too")
  func killedEmptied() throws {
    let handle = try open("f", .write, by: editor)
    try retrieve(Self.there)
    _ = try mount.tree.resize(handle.inode, to: 0, through: handle)
    let emptied = try mount.tree.open(handle.inode, mode: [.write, .truncate])
    try mount.write(emptied, Array("half".utf8))
    try killed { mount in
      try mount.cut()
      #expect(try mount.head()["f"] == Self.there)
      let due = try #require(mount.tree.nextCut())
      #expect(due.tick > SystemClock.monotonic() + 30_000_000_000)
    }
  }

  /// A handle of a file in a directory, which another side changed since.
  private func replacedInDirectory() throws -> LiveHandle {
    try mount.makeDirectory("d")
    try mount.makeDirectory("d/e")
    try mount.save("d/e/log", "one\n")
    try mount.cut()
    let handle = try open("d/e/log", .write, by: editor)
    let head = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
    let value = Value(id: Value.ID("d/e/log"), data: Array("zero\none\n".utf8))
    let made = try mount.store.makeVersion(
      basedOnPredecessor: head.id, storing: [.update(value)])
    let number = try #require(try mount.store.version(made.id)).number
    _ = try mount.tree.transition(.command, headReason: .merge) { _, _ in number }
    return handle
  }

  @Test("A replaced file's directory goes when a merge removes it, here or before a kill")
  func directoryRemoved() throws {
    let handle = try replacedInDirectory()
    try mount.save("g", "more")
    try mount.cut()
    try mount.write(handle, Array("two\n".utf8), at: 4)
    try retrieveRemovalOfDirectory()
    try killed { mount in
      #expect(try mount.names() == ["f", "g"])
      try mount.cut()
      #expect(try mount.head()["d/e/log"] == "one\ntwo\n")
      #expect(mount.text("d/e/log") == "one\ntwo\n")
    }
    try mount.close(handle)
    try mount.cut()
    #expect(mount.text("d/e/log") == "one\ntwo\n")
  }

  @Test("What was saved to a replaced file is in a version though its directory is removed here")
  func directoryRemovedHere() throws {
    let handle = try replacedInDirectory()
    try mount.write(handle, Array("two\n".utf8), at: 4)
    try mount.tree.flush(handle)
    try mount.unlink("d/e/log")
    try mount.removeDirectory("d/e")
    try killed { mount in
      try mount.cut()
      #expect(try mount.head()["d/e/log"] == "one\ntwo\n")
    }
    try mount.cut()
    #expect(try mount.head()["d/e/log"] == "one\ntwo\n")
    try mount.close(handle)
    #expect(mount.tree.orphanCount == 0)
  }

  @Test("A replaced file's directory is found when the kernel forgot it, and after a kill")
  func directoryForgotten() throws {
    let handle = try replacedInDirectory()
    try mount.save("g", "more")
    try mount.cut()
    try mount.write(handle, Array("two\n".utf8), at: 4)
    try mount.tree.flush(handle)
    for isKilled in [true, false] {
      func check(_ mount: MountedTree) throws {
        try mount.cut()
        #expect(try mount.head()["d/e/log"] == "zero\none\ntwo\n")
        #expect(mount.text("d/e/log") == "zero\none\ntwo\n")
      }
      if isKilled { try killed(check) } else { try check(mount) }
    }
    // Nothing is kept for it once it is closed.
    try mount.close(handle)
    try mount.cut()
    try mount.save("g", "most")
    try mount.cut()
    #expect(mount.tree.orphanCount == 0)
  }
}
