import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Programs change names while a merge is under way: they had not seen what it brings, and what they
/// did is still pending afterwards (docs/writes.md, rules 7 and 8).
extension StaleWriterTests {
  /// A merge brings changes of keys on the head that there is, and `meanwhile` runs after the tree's
  /// changes were taken and before the merge is shown.
  private func merge(
    _ changes: [Value.Change], meanwhile: () throws -> Void
  ) throws {
    let head = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
    let made = try mount.store.makeVersion(basedOnPredecessor: head.id, storing: changes)
    let number = try #require(try mount.store.version(made.id)).number
    _ = try mount.tree.transition(.command, headReason: .merge) { _, _ in
      #expect(throws: Never.self) { try meanwhile() }
      return number
    }
  }

  func update(_ name: String, _ text: String) -> Value.Change {
    .update(Value(id: Value.ID(name), data: Array(text.utf8)))
  }

  private func makeFiles(_ names: String...) throws {
    try mount.makeDirectory("d")
    // A file that is gone here and one that came there with the same bytes are one file that was renamed, if no
    // other has these bytes.
    for name in names { try mount.save("d/\(name)", "\(name)\n" + Self.base) }
    try mount.cut()
  }

  /// The paths of the head at which a text is.
  private func paths(of text: String) throws -> [String] {
    try mount.head().filter { $0.value == text }.keys.sorted()
  }

  @Test("A file made over a name whose removal is pending has seen what the removal had seen")
  func madeOverPendingRemoval() throws {
    try merge([update("f", Self.there)]) { try mount.unlink("f") }
    #expect(mount.text("f") == nil)
    try fill(try create("f", by: 4_000_001), Self.here)
    try mount.cut()
    let saved = try mount.head()["f"]
    #expect(saved == Self.both)
  }

  @Test("A directory that is empty since a merge was under way is removed as of before the merge")
  func removedEmptyDirectory() throws {
    try makeFiles("x")
    try merge([update("d/x", Self.there)]) { try mount.unlink("d/x") }
    try mount.removeDirectory("d")
    try mount.cut()
    let saved = try mount.head()["d/x"]
    #expect(saved == Self.there)
    #expect(mount.text("d/x") == Self.there)
  }

  @Test("A directory that is moved over such an empty one does not take the other side's edit")
  func movedOverEmptyDirectory() throws {
    try makeFiles("x")
    try mount.makeDirectory("e")
    try mount.save("e/y", "y")
    try mount.cut()
    try merge([update("d/x", Self.there)]) { try mount.unlink("d/x") }
    try mount.rename("e", "d")
    try mount.cut()
    #expect(try paths(of: "y") == ["d/y"])
    let edited = try paths(of: Self.there)
    #expect(edited.count == 1)
  }

  @Test("A directory renamed while a merge changes, adds and removes in it leaves no file twice")
  func renamedDirectory() throws {
    try makeFiles("x", "z")
    try merge([update("d/x", Self.there), update("d/y", "added"), .remove(Value.ID("d/z"))]) {
      try mount.rename("d", "e")
    }
    #expect(mount.text("e/x") == Self.there)
    try mount.cut()
    let (edited, added) = (try paths(of: Self.there), try paths(of: "added"))
    #expect(edited == ["e/x"])
    #expect(added.count == 1)
  }

  @Test("Directories exchanged while a merge changes one of them leave no file twice")
  func exchangedDirectories() throws {
    try makeFiles("x")
    try mount.makeDirectory("e")
    try mount.save("e/y", "y")
    try mount.cut()
    try merge([update("d/x", Self.there)]) {
      try mount.rename("d", "e", .exchange)
    }
    #expect(mount.text("e/x") == Self.there)
    try mount.cut()
    let (edited, other) = (try paths(of: Self.there), try paths(of: "y"))
    #expect(edited == ["e/x"])
    #expect(other == ["d/y"])
  }

  @Test(
    "A file made in a directory whose new name is pending from before a merge stands there once")
  func madeInRenamedDirectory() throws {
    try makeFiles("x")
    try merge([update("d/x", Self.there)]) { try mount.rename("d", "e") }
    try mount.save("e/new", "new")
    try mount.cut()
    #expect(try paths(of: "new") == ["e/new"])
    let left = try mount.head().keys.filter { $0.hasPrefix("d/") }
    #expect(left == [])
  }

  @Test(
    "Names inside a directory and the directory's name, changed in one window, keep their bytes")
  func changedInsideRenamedDirectory() throws {
    try makeFiles("x", "z")
    try merge([update("d/x", Self.there)]) {
      try mount.rename("d/x", "d/w")
      try mount.rename("d", "e")
      try mount.unlink("e/z")
    }
    try mount.cut()
    let (edited, other) = (try paths(of: Self.there), try paths(of: Self.base))
    #expect(edited == ["e/w"])
    #expect(other == ["f"])
  }
}
