import Events
import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import Control
@testable import Grammar
@testable import TreeSupport

/// undo, redo and restore where merges are among what is taken back; and what a merge would do.
@Suite("Undo across merges", .timeLimit(.minutes(2)))
struct MergeUndoTests {
  /// Two stores with the same start, each then changed, not synced since.
  private func apart() throws -> (ControlWorkspace, ControlWorkspace) {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    let folder = a.directory.file("folder")
    try FileSystem.makeDirectory(folder)
    for space in [a, b] { try space.service.setPeer("usb", address: Array("\(folder)\n".utf8)) }
    try a.write("both", "base")
    try a.write("gone", "base")
    try a.write("here", "base")
    try a.write("there", "base")
    try a.run("sync")
    try b.run("sync")
    try b.write("both", "of b")
    try b.write("there", "of b")
    try b.write("new", "of b")
    try b.remove("gone")
    try b.run("sync")
    try a.write("both", "of a")
    try a.write("here", "of a")
    return (a, b)
  }

  private func contents(_ space: ControlWorkspace) throws -> [String?] {
    try ["both", "gone", "here", "new", "there"].map { try space.read($0) }
  }

  private static let before = ["of a", "base", "of a", nil, "base"]
  private static let after = ["of a", nil, "of a", "of b", "of b"]

  @Test("undo takes back what a sync brought, redo brings it again, and both are versions")
  func sync() throws {
    let (a, b) = try apart()
    try a.run("sync")
    #expect(try contents(a) == Self.after)
    try a.run("undo")
    #expect(try contents(a) == Self.before)
    let undone = try a.service.version("head")
    // Nothing is taken in again by itself: what was merged is an ancestor.
    try a.run("sync")
    #expect(try a.service.version("head").number == undone.number)
    #expect(try contents(a) == Self.before)
    try a.run("redo")
    #expect(try contents(a) == Self.after)
    #expect(try a.failure("redo") == .notFound)
    try a.run("undo")
    try a.run("undo")
    #expect(try contents(a) == ["base", "base", "base", nil, "base"])
    try a.run("redo")
    try a.run("redo")
    #expect(try contents(a) == Self.after)
    // The other side follows, as it follows any version.
    try a.run("undo")
    try a.run("sync")
    try b.run("sync")
    #expect(try contents(b) == Self.before)
    #expect(try a.service.version("head").map.digest == b.service.version("head").map.digest)
  }

  @Test("undo passes over changes of the head that changed nothing to see")
  func nothingToSee() throws {
    let (a, b) = try apart()
    try a.run("sync")
    try b.run("sync")
    try b.write("own", "1")
    try b.run("commit")
    try b.write("own", "2")
    try b.run("sync")
    // The other store makes something and takes it back; this one settles.
    try a.run("sync")
    try a.write("passing", "x")
    try a.run("commit")
    try a.run("undo")
    try a.run("sync")
    try b.run("sync")
    try b.run("settle both")
    // What is seen of settling is that the conflict is gone.
    try b.run("undo")
    #expect(try b.read("own") == "2" && b.run("conflicts").text.hasPrefix("both: "))
    try b.run("undo")
    #expect(try b.read("own") == "1")
    try b.run("undo")
    #expect(try b.read("own") == nil)
    try b.run("redo")
    try b.run("redo")
    #expect(try b.read("own") == "2" && b.run("conflicts").text.hasPrefix("both: "))
    try b.run("redo")
    #expect(try b.run("conflicts").text == "no conflicts")
    #expect(try b.failure("redo") == .notFound)
  }

  @Test("undo of a fast forward, and of another line's merge; restore from across a merge")
  func others() throws {
    let (a, b) = try apart()
    try a.run("undo")
    let own = try #require(try a.head)
    try a.run("sync")
    try b.run("sync")
    #expect(try b.head == a.head)
    try b.write("new", "later")
    try b.run("sync")
    try a.run("sync")
    #expect(try a.read("new") == "later")
    try a.run("undo")
    #expect(try a.read("new") == "of b")
    try a.run("branch side")
    try a.write("here", "side")
    try a.run("commit")
    try a.run("switch -")
    try a.run("merge side")
    #expect(try a.read("here") == "side")
    try a.run("undo")
    #expect(try a.read("here") == "base")
    try a.run("redo")
    #expect(try a.read("here") == "side")
    try a.run("restore \(own)")
    #expect(try contents(a) == ["base", "base", "base", nil, "base"])
    try a.run("undo")
    #expect(try a.read("here") == "side" && a.read("new") == "of b")
  }

  @Test("a dry run lists what would change and clash, and changes nothing")
  func dryRun() throws {
    let (a, _) = try apart()
    try a.run("set automerge=off")
    try a.run("commit")
    #expect(try a.run("merge --dry-run").text == "nothing to merge")
    try a.run("retrieve")
    let head = try a.head
    let dry = try a.run("merge --dry-run")
    let sides = #/ \(ours: .*; theirs: .*\)/#
    #expect(dry.text.contains(sides))
    #expect(
      dry.text.replacing(sides, with: "")
        == "would merge 2 heads, 4 changes, 1 conflict: both\n! both\n- gone\n+ new\n* there")
    #expect(dry.json.contains(#"{"path":"gone","change":"-"}"#))
    #expect(try a.head == head)
    #expect(try contents(a) == Self.before)
    #expect(try a.run("merge --dry-run using theirs").text.contains("1 clash settled: both"))
    #expect(try a.run("merge").text.contains("1 conflict: both"))
    #expect(try a.run("merge --dry-run").text == "nothing to merge")
    // A head that only goes on from this one is taken as it is.
    try a.run("branch side")
    try a.write("new", "side")
    try a.run("commit")
    try a.run("switch -")
    let forward = try a.run("merge side --dry-run")
    #expect(forward.text == "would merge 2 heads, 1 change\n* new")
    #expect(try a.read("new") == "of b")
  }

  @Test(
    "a file whose name the other side's directory takes is a conflict in the answer of the merge too"
  )
  func displaced() throws {
    let (a, b) = try apart()
    try a.write("name", "file")
    let made = try b.tree.makeDirectory(
      TreeSession.rootInode, Array("name".utf8), mode: 0o755, caller: ControlWorkspace.caller)
    let inner = try b.tree.create(
      made.node, Array("inner".utf8), mode: 0o644, open: [.write, .created],
      caller: ControlWorkspace.caller
    ).1
    try b.tree.release(inner)
    try b.run("sync")
    try a.run("set automerge=off")
    try a.run("commit")
    try a.run("retrieve")
    let dry = try a.run("merge --dry-run")
    #expect(dry.text.contains("2 conflicts: both, name\n! both (ours: "))
    #expect(dry.text.contains("\n! name\n"))
    let sided = try a.run("merge --dry-run using theirs")
    #expect(sided.text.contains(", 1 clash settled: both, 1 conflict: name\n"))
    #expect(sided.json.contains(#""conflicts":["name"],"settled":["both"]"#))
    let merge = try a.run("merge")
    #expect(merge.text.contains("2 conflicts: both (kept: ") && merge.text.hasSuffix("), name"))
    #expect(merge.json.contains(#""conflicts":["both","name"],"conflictSides":[{"path":"both","#))
    #expect(merge.json.contains(#""settled":[]"#))
    // Those that were there before are not told again.
    try b.write("more", "of b")
    try b.run("sync")
    try a.write("own", "of a")
    try a.run("retrieve")
    #expect(!(try a.run("merge").text.contains("conflict")))
    #expect(
      try a.run("conflicts").text.contains(
        "name is a file on one side and a directory on the other"))
  }

  @Test(
    "an older entry of the log of heads that nobody wrote is passed over, and named",
    .enabled(if: (try? shell("command -v sqlite3").status) == 0))
  func damagedEntry() throws {
    let space = try ControlWorkspace()
    for text in ["one", "two", "three"] {
      try space.write("f", text)
      try space.run("commit")
    }
    let log = try space.store.headLog(limit: 3)
    let middle = log[1].sequence
    let catalog = space.directory.file("store/store.sqlite")
    let changed = try shell(
      "sqlite3 '\(catalog)' 'UPDATE head_log SET version = 1 WHERE sequence = \(middle)'")
    try #require(changed.status == 0, "\(changed.output)")
    try space.run("undo")
    #expect(try space.read("f") == "one")
    let lines = EventLog(directory: space.store.path).lastLines(20)
    #expect(
      lines.contains {
        $0.contains("entry \(middle) of the log of heads") && $0.contains("passed")
      },
      "\(lines)")
    try space.run("redo")
    #expect(try space.read("f") == "three")
  }
}
