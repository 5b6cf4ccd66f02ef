import Inodes
import LLVSCore
import TestSupport
import Testing
import WorkingTree

@testable import TreeSupport

@Suite("The names that are in no version yet", .timeLimit(.minutes(1)))
struct PendingPathsTests {
  private func pending(_ mount: MountedTree) throws -> [String] {
    try #require(try mount.tree.files.pendingPaths(atMost: 100)).map { item in
      String(UnicodeScalar(item.change.rawValue)) + " "
        + String(decoding: item.path.bytes, as: UTF8.self)
        + (item.isDirectory ? "/" : "")
    }
  }

  @Test("new, changed, gone and moved names are told apart, and scratch is not told")
  func marks() throws {
    let directory = try TemporaryDirectory()
    let mount = try MountedTree.unhurried(directory.path)
    for name in ["moved", "stays", "goes"] { try mount.makeDirectory(name) }
    for path in ["a", "b", "moved/x", "stays/y", "goes/z", "target"] {
      try mount.save(path, "one \(path)")
    }
    #expect(try pending(mount).contains("+ moved/x"))
    _ = try mount.cut()
    #expect(try pending(mount) == [])

    try mount.save("a", "two")
    try mount.unlink("b")
    try mount.rename("moved", "elsewhere")
    try mount.save("elsewhere/new", "below what moved")
    try mount.unlink("goes/z")
    try mount.removeDirectory("goes")
    try mount.makeDirectory("stays/fresh")
    try mount.save("stays/fresh/w", "w")
    // As editors save: a temporary that is renamed over the file.
    try mount.save("temporary", "three")
    try mount.rename("temporary", "target")
    try mount.save(".a.swp", "scratch")
    let handle = try mount.create("unsaved")
    try mount.write(handle, [0x78])
    #expect(
      try pending(mount) == [
        "* a", "- b", "+ elsewhere/", "- goes", "- moved", "+ stays/fresh/", "+ stays/fresh/w",
        "* target", "+ unsaved",
      ])
    #expect(try mount.tree.files.pendingPaths(atMost: 3) == nil)
    #expect(mount.tree.pending().new == 4, "the temporary is a change of its target")
    try mount.close(handle)
    _ = try mount.cut()
    #expect(try pending(mount) == [])
  }
}
