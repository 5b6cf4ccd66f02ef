import LLVSCore
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// After a cut the live tree shows what the head holds, whatever the changes were made on.
extension StaleWriterTests {
  /// As a kernel that has looked the file up and not forgotten it.
  private func know() throws {
    for name in ["f", "g"] {
      _ = try mount.tree.lookup(TreeSession.rootInode, Array(name.utf8))
    }
  }

  private func expectShown(_ sourceLocation: SourceLocation = #_sourceLocation) throws {
    let head = try mount.head()
    #expect(Set(head.keys) == (try mount.names()), sourceLocation: sourceLocation)
    for (path, text) in head {
      #expect(mount.text(path) == text, "\(path)", sourceLocation: sourceLocation)
    }
  }

  @Test("A version took the name that a save by rename came from: it goes away all the same")
  func renamedAfterCut() throws {
    try load("f", by: editor)
    try know()
    try retrieve(Self.there)
    try know()
    try fill(try create("f.new", by: editor), Self.here)
    try mount.cut()
    try move("f.new", "f", by: editor)
    try mount.cut()
    #expect(try mount.head() == ["f": Self.both, "g": "g"])
    try expectShown()
  }

  @Test(
    "A save of what the editor had read is no change: the merge is shown", arguments: Way.allCases)
  func unchanged(_ way: Way) throws {
    try load("f", by: editor)
    try know()
    try retrieve(Self.there)
    try know()
    try save(Self.base, way, by: editor)
    #expect(mount.text("f") == Self.base)
    try mount.cut()
    #expect(try mount.head()["f"] == Self.there)
    try expectShown()
  }

  @Test("What is saved through a handle that was open over a merge, and wins, is shown")
  func wins() throws {
    let handle = try open("f", [.read, .write], by: editor)
    try know()
    try retrieve(Self.there)
    try know()
    _ = try mount.tree.resize(handle.inode, to: 0, through: handle)
    try fill(handle, "all new\n")
    try mount.cut()
    #expect(try mount.head()["f"] == "all new\n")
    try expectShown()
  }

  @Test("The same where somebody else has saved at the name since")
  func winsOverOther() throws {
    let handle = try open("f", [.read, .write], by: editor)
    try know()
    try retrieve(Self.there)
    try know()
    try mount.save("f", "another\n")
    _ = try mount.tree.resize(handle.inode, to: 0, through: handle)
    try fill(handle, "all new\n")
    try mount.cut()
    try expectShown()
  }
}
