import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import TreeSupport

/// Stale writers, new heads under pending changes, detached files: docs/writes.md, rules 7 to 9.
@Suite(.timeLimit(.minutes(2)))
struct MergedTreeTests {
  let mount: MountedTree
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    mount = try MountedTree.unhurried(directory.path)
  }

  /// What another replica made: a version on the head of now, retrieved but not merged.
  func foreign(_ changes: [Value.Change], on base: VersionNumber? = nil) throws -> VersionNumber {
    let head = try mount.store.state().head
    let version = try #require(try (base ?? head).flatMap { try mount.store.version($0) })
    let made = try mount.store.makeVersion(
      basedOnPredecessor: version.id, storing: changes)
    return try #require(try mount.store.version(made.id)).number
  }

  func put(_ path: String, _ text: String) -> Value.Change {
    .update(Value(id: Value.ID(path), data: Array(text.utf8)))
  }

  func add(_ path: String, _ text: String) -> Value.Change {
    .insert(Value(id: Value.ID(path), data: Array(text.utf8)))
  }

  /// Cuts and merges another version in, as the command does.
  @discardableResult
  func merge(_ other: VersionNumber) throws -> CutOutcome {
    mount.told.all = []
    return try mount.tree.transition(.command, headReason: .merge) {
      (transaction, head) throws(StoreError) in
      guard let head else { return other }
      return try transaction.mergeSides([head, other], live: head).outcome
    }
  }

  @Test(
    "what is changed at a directory is changed on what it shows, also where it holds ignored files",
    arguments: [false, true])
  func directoriesOfIgnoredFiles(isCut: Bool) throws {
    func show(_ version: VersionRecord?) throws {
      _ = try mount.tree.transition(.command) { _, _ in version?.number }
    }
    try mount.makeDirectory("d")
    try mount.change("d") { $0.mode = 0o700 }
    try mount.save("d/x", "x")
    let closed = try mount.cut().head
    try mount.change("d") { $0.mode = 0o755 }
    let open = try mount.cut().head
    try show(closed)
    try mount.save("d/x~", "ignored")
    if isCut { try mount.cut() }
    try show(open)
    #expect(try mount.status("d").mode & 0o777 == 0o755)
    try mount.change("d") { $0.mode = 0o700 }
    #expect(try mount.cut().cut != nil)
    #expect(try mount.status("d").mode & 0o777 == 0o700)
    #expect(try mount.entry("d")?.attributes.mode == 0o700)
    #expect(mount.text("d/x~") == "ignored")
  }

  @Test("a merge changes, adds and removes names, and says which")
  func merged() throws {
    try mount.save("a", "a")
    try mount.save("b", "b")
    try mount.makeDirectory("d")
    try mount.save("d/x", "x")
    try mount.cut()
    let a = try mount.with("a") { try mount.tree.lookup($0, $1).inode }
    let d = try mount.with("d") { try mount.tree.lookup($0, $1).inode }
    let b = try mount.with("b") { try mount.tree.lookup($0, $1).inode }
    try merge(
      try foreign([put("a", "A"), .remove(Value.ID("b")), add("d/new", "n")]))
    #expect(mount.text("a") == "A" && mount.text("b") == nil && mount.text("d/new") == "n")
    // Other bytes by a merge have another number.
    #expect(try mount.inode("a") != a)
    let told = Set(mount.told.all)
    let root = TreeSession.rootInode
    #expect(told.contains(.entry(parent: root, name: Array("b".utf8))))
    #expect(told.contains(.entry(parent: d, name: Array("new".utf8))))
    #expect(told.contains(.node(a)))
    #expect(try mount.tree.getattr(b).links == 0)
  }

  @Test("a value without a time of its own shows when its version was made, open or not")
  func storedTimes() throws {
    try mount.save("a", "a")
    try mount.save("b", "b")
    try mount.cut()
    // Both known to the kernel, one open.
    let a = try mount.with("a") { try mount.tree.lookup($0, $1).inode }
    let handle = try mount.open("b", .read)
    let other = try foreign([put("a", "A"), put("b", "B")])
    try merge(other)
    let made = try #require(try mount.store.version(other))
    let time = Attributes.Time(ofVersion: made.timestamp)
    for name in ["a", "b"] { #expect(try mount.status(name).mtime == time) }
    // Other bytes by a merge have another number.
    #expect(try mount.inode("a") != a)
    try mount.close(handle)
    #expect(try mount.status("b").mtime == time)
  }

  @Test("a pending name keeps its bytes and its predecessor; the cut merges the two sides")
  func pendingStays() throws {
    try mount.save("notes", "one\ntwo\nthree\n")
    try mount.save("other", "x")
    try mount.cut()
    // Not saved when the merge comes: it stays as it is.
    let handle = try mount.open("notes", [.write, .truncate])
    try mount.write(handle, Array("one here\ntwo\nthree\n".utf8))
    try merge(try foreign([put("notes", "one\ntwo\nthree there\n"), put("other", "y")]))
    #expect(mount.text("notes") == "one here\ntwo\nthree\n")
    #expect(mount.text("other") == "y")
    try mount.close(handle)
    let outcome = try mount.cut()
    // Two versions came: the side on what the writer had seen, and the merge.
    let head = try #require(outcome.head)
    #expect(head.second != nil)
    let sides = [head.first, head.second].compactMap { $0 }
    let texts = try sides.map { try mount.version(try mount.store.version($0))["notes"] ?? "" }
    #expect(Set(texts) == ["one here\ntwo\nthree\n", "one\ntwo\nthree there\n"])
    #expect(mount.text("notes") == (try mount.head()["notes"]))
    #expect(mount.text("other") == "y")
  }

  @Test("own cuts between open and save make no second side")
  func ownCuts() throws {
    try mount.save("f", "1")
    try mount.cut()
    let first = try mount.open("f", [.write, .append])
    let second = try mount.open("f", [.write, .append])
    try mount.write(first, Array("2".utf8), at: 1)
    try mount.tree.flush(first)
    try mount.cut()
    try mount.write(second, Array("3".utf8), at: 2)
    try mount.tree.flush(second)
    let outcome = try mount.cut()
    #expect(outcome.head?.second == nil && outcome.head?.first != nil)
    #expect(try mount.head() == ["f": "123"])
    #expect(try mount.store.state().lastNumber == 3)
  }

  @Test("a replaced file that is open lives on, and what is saved through it is merged")
  func detached() throws {
    try mount.save("f", "one\ntwo\nthree\n")
    try mount.cut()
    let handle = try mount.open("f", [.read, .write])
    try merge(try foreign([put("f", "one\ntwo\nthree there\n")]))
    let shown = try mount.inode("f")
    #expect(shown != handle.inode)
    #expect(mount.text("f") == "one\ntwo\nthree there\n")
    #expect(try mount.bytes(ofInode: handle.inode) == Array("one\ntwo\nthree\n".utf8))
    // Nothing is written through it: nothing comes of it.
    try mount.tree.flush(handle)
    let before = try mount.store.state().lastNumber
    try mount.cut()
    #expect(try mount.store.state().lastNumber == before)
    #expect(try mount.inode("f") == shown)
    try mount.write(handle, Array("ONE".utf8))
    try mount.close(handle)
    let outcome = try mount.cut()
    #expect(outcome.head?.second != nil)
    #expect(mount.text("f") == (try mount.head()["f"]))
    #expect(try mount.inode("f") != shown)
    #expect(mount.text("f") != "one\ntwo\nthree there\n")
  }

  @Test("a cut that fails takes nothing back: what detached files saved is taken by the next")
  func failedCut() throws {
    try mount.save("f", "base")
    try mount.cut()
    let handle = try mount.open("f", .write)
    try merge(try foreign([put("f", "there")]))
    try mount.write(handle, Array("here".utf8))
    try mount.close(handle)
    try mount.save("g", "g")
    #expect(throws: StoreError.self) {
      try mount.tree.transition(.command) { (_, _) throws(StoreError) in
        throw .busy("not now")
      }
    }
    #expect(mount.text("g") == "g")
    #expect(mount.tree.pending().due != nil)
    try mount.cut()
    #expect(try mount.head()["g"] == "g")
    #expect(mount.text("f") == "here")
    #expect(try mount.store.state().lastNumber >= 4)
  }

  @Test("a directory that stayed for what is ignored is told of names that come back into it")
  func refilledDirectory() throws {
    try mount.save("seed", "x")
    let without = try mount.cut().head?.number
    for path in ["d", "d/e", "d/e/e"] { try mount.makeDirectory(path) }
    try mount.save("d/f", "f")
    try mount.save("d/e/e/f", "f")
    let with = try mount.cut().head?.number
    try mount.save("d/.f.swp", "scratch")
    try mount.save("d/e/e/.f.swp", "scratch")
    let places = try ["d/f", "d/e/e/f"].map { try mount.place($0).0 }
    let (empty, full) = ([".f.swp", "e"], [".f.swp", "e", "f"])
    for (head, names) in [(without, empty), (with, full), (without, empty), (with, full)] {
      mount.told.all = []
      _ = try mount.tree.transition(.command) { (_, _) throws(StoreError) in head }
      #expect(try mount.names("d") == Set(names))
      #expect(mount.text("d/e/e/.f.swp") == "scratch")
      for parent in places {
        #expect(mount.told.all.contains(.entry(parent: parent, name: Array("f".utf8))))
      }
    }
    #expect(mount.text("d/e/e/f") == "f")
  }

  @Test("a directory that others removed stays while something pending stands in it")
  func removedDirectory() throws {
    try mount.makeDirectory("d")
    try mount.save("d/x", "x")
    try mount.cut()
    let handle = try mount.create("d/new")
    try mount.write(handle, Array("new".utf8))
    let side = try foreign([.remove(Value.ID("d/x"))])
    _ = try mount.tree.transition(.command) { (transaction, head) throws(StoreError) in
      guard let record = try transaction.version(side), let head else { return head }
      // The other side's map without the directory itself.
      let base = transaction.store.map(record.map)
      let map = try ValueMap(root: base.root, storage: transaction.nodes, cache: base.cache)
        .applying(edits: [.remove(Value.ID("d"), directory: true)])
      let removed = try transaction.add(
        AuthoredVersion(
          number: try transaction.reserveVersion(), first: side, base: base, map: map))
      return try transaction.mergeSides([head, removed.number], live: head).outcome
    }
    #expect(try mount.names("d") == ["new"])
    #expect(mount.text("d/new") == "new")
    try mount.close(handle)
    try mount.cut()
    #expect(mount.text("d/new") == "new")
    #expect(try mount.head()["d/new"] == "new")
  }

  @Test("attributes that were changed here do not empty a file that was removed there")
  func attributesOfRemoved() throws {
    try mount.save("f", "text")
    try mount.save("keep", "x")
    try mount.cut()
    let base = try mount.store.state().head
    try mount.change("f") { $0.mode = 0o600 }
    // The chmod is pending on what was before the removal.
    _ = base
    try merge(try foreign([.remove(Value.ID("f"))]))
    let text = mount.text("f")
    #expect(text == nil || text == "text")
    try mount.cut()
    #expect(mount.text("f") == (try mount.head()["f"]))
  }

  @Test("no two names have one number after a name came back that was renamed here")
  func distinctNumbers() throws {
    try mount.save("x", "x")
    try mount.save("z", "z")
    try mount.cut()
    let base = try mount.store.state().head
    // Other bytes too, else the change there would follow the rename.
    try mount.rename("x", "y")
    try mount.save("y", "y")
    try mount.cut()
    try merge(try foreign([put("x", "edited")], on: base))
    #expect(mount.text("x") == "edited" && mount.text("y") == "y")
    #expect(try mount.inode("x") != mount.inode("y"))
  }

  @Test("a head that was moved while nothing was mounted is shown, with what is pending over it")
  func movedHead() throws {
    try mount.save("f", "f")
    try mount.cut()
    try mount.save("mine", "pending")
    let path = directory.path
    let lock = try foreign([put("f", "moved"), add("new", "n")])
    try mount.store.write { (transaction) throws(StoreError) in
      let record = try transaction.version(lock)
      try transaction.setHead(lock, map: record?.map, reason: .other("test"))
    }
    let copy = path + "/copy"
    try FileSystem.makeDirectory(copy)
    try copyTree(mount.path, to: copy + "/s")
    let again = try MountedTree(copy)
    #expect(again.recovery.losses == [])
    #expect(again.text("f") == "moved" && again.text("new") == "n")
    #expect(again.text("mine") == "pending")
    try again.cut()
    #expect(try again.head() == ["f": "moved", "new": "n", "mine": "pending"])
  }
}
