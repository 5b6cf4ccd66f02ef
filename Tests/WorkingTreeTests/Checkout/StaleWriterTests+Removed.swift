import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// A merge removes a file that somebody has open: an edit beside the removal, and the edit wins.
extension StaleWriterTests {
  /// The other side removes values, and that comes in.
  func retrieveRemoval(of names: [String]) throws {
    let head = try #require(try mount.store.state().head.flatMap { try mount.store.version($0) })
    let made = try mount.store.makeVersion(
      basedOnPredecessor: head.id, storing: names.map { .remove(Value.ID($0)) })
    let number = try #require(try mount.store.version(made.id)).number
    _ = try mount.tree.transition(.command, headReason: .merge) { _, _ in number }
    for name in names { #expect(mount.text(name) == nil) }
  }

  @Test("What is saved through a handle whose file a merge removed is there again, each time")
  func removed() throws {
    let handle = try open("f", [.read, .write], by: editor)
    try retrieveRemoval(of: ["f"])
    #expect(try mount.tree.getattr(handle.inode).links == 0)
    try mount.write(handle, Array(Self.here.utf8))
    try mount.tree.flush(handle)
    try mount.cut()
    #expect(try mount.head() == ["f": Self.here, "g": "g"])
    #expect(mount.text("f") == Self.here)
    try fill(handle, Self.both)
    try mount.cut()
    #expect(try mount.head()["f"] == Self.both)
    #expect(mount.text("f") == Self.both)
    #expect(mount.tree.orphanCount == 0)
  }

  @Test("So it is where it is opened before the kernel knows that it is gone")
  func openedLate() throws {
    let inode = try mount.with("f") { try mount.tree.lookup($0, $1).node }
    try retrieveRemoval(of: ["f"])
    let handle = try mount.tree.open(inode, mode: [.read, .write])
    try fill(handle, Self.here)
    mount.forget(inode)
    try mount.cut()
    #expect(try mount.head() == ["f": Self.here, "g": "g"])
    #expect(mount.text("f") == Self.here)
    #expect(mount.tree.orphanCount == 0)
  }

  @Test("So it is where its directory went too, and over a crash before the next version")
  func removedWithDirectory() throws {
    try mount.makeDirectory("d")
    try mount.makeDirectory("d/e")
    try mount.save("d/e/log", "one\n")
    try mount.cut()
    let handle = try open("d/e/log", .write, by: editor)
    try retrieveRemovalOfDirectory()
    try mount.write(handle, Array("two\n".utf8), at: 4)
    try mount.tree.flush(handle)
    let copy = try TemporaryDirectory()
    try copyTree(mount.path, to: copy.file("s"))
    for mount in [mount, try MountedTree(copy.path)] {
      #expect(mount.recovery.losses == [])
      try mount.cut()
      #expect(try mount.head()["d/e/log"] == "one\ntwo\n")
      #expect(mount.text("d/e/log") == "one\ntwo\n")
    }
    try mount.close(handle)
  }

  /// The other side removes `d`, and that comes in.
  func retrieveRemovalOfDirectory() throws {
    let head = try #require(try mount.store.state().head)
    let directories = ["d", "d/e"].map { MapEdit.remove(Key($0), directory: true) }
    _ = try mount.tree.transition(.command, headReason: .merge) {
      (transaction, _) throws(StoreError) in
      try Self.remove(
        directories + [.remove(Key("d/e/log"), directory: false)], on: head, in: transaction,
        mount.store)
    }
    #expect(try mount.names() == ["f", "g"])
  }

  private static func remove(
    _ edits: [MapEdit], on head: VersionNumber, in transaction: WriteTransaction, _ store: Store
  ) throws(StoreError) -> VersionNumber? {
    guard let record = try transaction.version(head) else { return nil }
    let base = store.map(record.map)
    let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
      .applying(edits: edits.sorted(by: MapEdit.precedes))
    return try transaction.add(
      AuthoredVersion(
        number: try transaction.reserveVersion(), first: head, base: base, map: map,
        line: nil, author: nil, message: nil)
    ).number
  }

  @Test("What nobody writes stays removed, and so does what is removed here too")
  func staysRemoved() throws {
    let reader = try open("f", .read, by: editor)
    let writer = try open("g", [.read, .write], by: editor)
    try retrieveRemoval(of: ["f", "g"])
    try mount.close(reader)
    try mount.write(writer, Array("again".utf8))
    try mount.tree.flush(writer)
    try mount.cut()
    #expect(try mount.head() == ["g": "again"])
    try mount.unlink("g")
    try fill(writer, "and again")
    try mount.cut()
    #expect(try mount.head() == [:])
    #expect(try mount.names() == [])
  }

  @Test("After a switch to a line without the file what is saved goes to the line that has it")
  func switched() throws {
    let before = try #require(try mount.store.state().head)
    try mount.save("new", "new")
    let left = try #require(try mount.cut().head?.number)
    let handle = try open("new", .write, by: editor)
    let side = try edited("side", on: before)
    _ = try mount.tree.transition(.command, headReason: .other("switch")) { _, _ in side }
    #expect(try mount.names() == ["f", "g"])
    try mount.write(handle, Array("late".utf8))
    try mount.tree.flush(handle)
    let made = try #require(try mount.cut().cut)
    #expect(try mount.version(made) == ["f": Self.base, "g": "g", "new": "late"])
    #expect(made.first == left)
    #expect(try mount.head() == ["f": "side", "g": "g"])
    #expect(try mount.store.state().head == side)
    #expect(try mount.names() == ["f", "g"])
    try fill(handle, "later")
    let next = try #require(try mount.cut().cut)
    #expect(try mount.version(next)["new"] == "later")
    #expect(next.first == made.number)
    #expect(try mount.store.state().head == side)
    #expect(try mount.cut().cut == nil)
  }

  @Test("A directory with a displaced value's name that is moved under way is not that value")
  func namedLikeDisplaced() throws {
    // There a directory has taken the name of the value, which is shown beside it.
    let other = try edited("below", of: "f/x")
    try mount.makeDirectory("%llvs%f")
    try mount.save("g", "more")
    try mount.cut()
    _ = try mount.tree.transition(.command, headReason: .other("switch")) { _, _ in
      #expect(throws: Never.self) {
        try mount.save("t", "saved meanwhile")
        try mount.rename("t", "f")
        try mount.rename("%llvs%f", "q")
      }
      return other
    }
    try mount.cut()
    var texts: Set<String> = []
    for record in try mount.store.versions(afterName: nil, limit: .max) {
      texts.formUnion(try mount.version(record).values)
    }
    #expect(texts.contains("saved meanwhile"))
  }

  @Test(
    "Who makes anew a name that a merge removed has made it where nothing was, whatever it read there",
    arguments: [false, true])
  func madeAnew(isMoved: Bool) throws {
    try load("f", by: editor)
    try retrieveRemoval(of: ["f"])
    if isMoved {
      try save(Self.here, .renaming, by: editor)
    } else {
      try fill(try create("f", by: editor), Self.here)
    }
    #expect(try mount.cut().head?.second == nil)
    #expect(try mount.head() == ["f": Self.here, "g": "g"])
    // Nor is it at odds with that later.
    try mount.with("f") { parent, name in
      let inode = try mount.tree.lookup(parent, name).node
      var change = StatusChange()
      change.mode = 0o600
      _ = try mount.tree.setattr(inode, change, thread: editor)
      mount.forget(inode)
    }
    try mount.cut()
    try save(Self.both, .renaming, by: editor)
    #expect(try mount.cut().head?.second == nil)
    #expect(try mount.head() == ["f": Self.both, "g": "g"])
    #expect(try mount.store.openConflicts(at: #require(mount.store.state().head)).isEmpty)
  }

  @Test("A name that somebody took away since the last version has what a merge brought there")
  func takenAway() throws {
    try load("f", by: editor)
    try retrieve(Self.there)
    try mount.unlink("f")
    try fill(try create("f", by: editor), Self.here)
    #expect(try mount.cut().head?.second != nil)
    #expect(try mount.head()["f"] == Self.both)
  }
}
