import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Grammar
@testable import TreeSupport
@testable import WorkingTree

/// What a kill between the store's commit and the journal's next generation leaves opens as the tree that the
/// transition would have shown.
extension StaleWriterTests {
  /// The store as a kill leaves it once a version is committed, mounted again.
  private func killedOnceCommitted(
    _ transition: () throws -> Void, _ check: (MountedTree) throws -> Void
  ) throws {
    let copy = try TemporaryDirectory()
    let (path, store, target) = (mount.path, mount.store, copy.file("s"))
    let before = try store.state().lastNumber
    nonisolated(unsafe) var isCopied = false
    let watch = Faults.watch(below: path + "/journal") { _, phase in
      guard phase == .before, !isCopied, (try? store.state().lastNumber) != before else { return }
      isCopied = true
      #expect(throws: Never.self) { try copyTree(path, to: target) }
    }
    defer { Faults.unwatch(watch) }
    try transition()
    // A cut that brings nothing from elsewhere writes nothing to the journal once the store has it.
    if !isCopied { try copyTree(path, to: target) }
    let again = try MountedTree.unhurried(copy.path)
    #expect(again.recovery.losses == [])
    try check(again)
  }

  @Test("What a version took of a replaced file is pending no more after a kill")
  func takenDetached() throws {
    let handle = try open("f", [.read, .write], by: editor)
    try retrieve(Self.there)
    try mount.write(handle, Array(Self.here.utf8))
    try mount.tree.flush(handle)
    try killedOnceCommitted {
      try mount.cut()
    } _: { again in
      #expect(again.text("f") == Self.both)
      #expect(again.tree.nextCut() == nil)
      #expect(again.tree.orphanCount == 0)
      let next = try again.cut().cut
      #expect(next == nil)
    }
    try mount.close(handle)
  }

  @Test("A save that a version left out, since writes followed it, is on what the version took")
  func fallenBack() throws {
    func settle(_ time: UInt64) {
      mount.settle(time)
    }
    let handle = try open("f", [.write, .truncate], by: editor)
    try mount.write(handle, Array("one".utf8))
    try mount.tree.flush(handle)
    settle(1)
    try mount.write(handle, Array("two".utf8))
    try mount.tree.flush(handle)
    settle(3_600_000_000_000)
    try mount.write(handle, Array("six".utf8))
    try killedOnceCommitted {
      _ = try mount.tree.cut(.quiet)
    } _: { again in
      #expect(try again.head()["f"] == "one")
      #expect(again.text("f") == "six")
      let inode = try again.inode("f")
      #expect(again.tree.keepsUncountedSave(of: inode))
    }
    try mount.close(handle)
  }

  @Test(
    "Who had seen an older version and saved while a switch worked is not on the new line after a kill"
  )
  func leftByASwitch() throws {
    let first = try mount.store.state().head
    try retrieve(Self.there)
    let handle = try open("f", [.read, .write], by: editor)
    try mount.save("g", "more")
    try killedOnceCommitted {
      _ = try mount.tree.transition(.command, headReason: .other("switch")) { _, _ in
        #expect(throws: Never.self) {
          try mount.write(handle, Array(Self.here.utf8))
          try mount.tree.flush(handle)
        }
        return first
      }
    } _: { again in
      let shown = again.text("f")
      #expect(shown == mount.text("f"))
      try again.cut()
      try mount.cut()
      #expect(try again.head() == mount.head())
      #expect(again.text("f") == mount.text("f"))
      #expect(try again.store.state().lastNumber == mount.store.state().lastNumber)
    }
    try mount.close(handle)
  }
}
