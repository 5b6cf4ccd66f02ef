import LLVSCore
import TestSupport
import Testing

@testable import Control
@testable import Grammar
@testable import TreeSupport
@testable import WorkingTree

@Suite("Commands", .timeLimit(.minutes(2)))
struct ControlServiceTests {
  @Test("a commit takes what is saved and names what is not")
  func commit() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    let open = try space.write("b", "half", isSaved: false)
    let result = try space.run("commit first words")
    #expect(result.text.contains("1 new: a"))
    #expect(result.text.contains("not saved yet: b"))
    let record = try space.service.version("head")
    let message: String? = try space.store.metadata(of: record)[.message]?.value()
    #expect(message == "first words")
    #expect(try space.run("commit").text.contains("nothing to commit"))
    try space.tree.flush(open)
    try space.tree.release(open)
    #expect(try space.run("commit").text.contains("1 new: b"))
  }

  @Test("a branch goes its own way and is merged on the line that asks for it")
  func branches() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    try space.run("commit")
    try space.run("branch work")
    #expect(try space.failure("branch work") == .exists)
    try space.write("b", "on work")
    try space.run("commit")
    try space.run("switch -")
    #expect(try space.read("b") == nil)
    #expect(try space.read("a") == "one")
    try space.run("merge work")
    #expect(try space.read("b") == "on work")
    #expect(try space.service.version("head").line == "-")
    try space.run("switch work")
    #expect(try space.service.version("head").line == "work")
    #expect(try space.failure("switch nowhere") == .notFound)
  }

  @Test("a switch with a file that is not saved is refused and names it")
  func switchBusy() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    try space.run("commit")
    try space.run("branch work")
    let open = try space.write("open.txt", "half", isSaved: false)
    do {
      try space.run("switch -")
      Issue.record("the switch was done")
    } catch let error as ControlError {
      #expect(error.kind == .busy)
      #expect(error.message.contains("open.txt"))
    }
    try space.tree.release(open)
    try space.run("switch -")
  }

  @Test("a file whose name an undo gave to another is named while its bytes are in no version")
  func replacedFile() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    try space.run("commit")
    try space.write("a", "two")
    try space.run("commit")
    let inode = try space.tree.lookup(TreeSession.rootInode, Array("a".utf8)).node
    let open = try space.tree.open(inode, mode: [.read, .write])
    try space.run("undo")
    #expect(try space.read("a") == "one")
    #expect(try space.pending() == "0 changed, 0 new, 0 removed")
    try Array("three".utf8).withUnsafeBytes { try space.tree.write(open, at: 0, $0) }
    #expect(try space.pending() == "0 changed, 0 new, 0 removed; 1 not saved yet: a")
    #expect(try space.run("commit").text == "nothing to commit; not saved yet: a")
    // What is saved in it belongs to the line that a switch leaves, so that one does not wait for it.
    try space.run("switch head as side")
    try space.run("switch -")
    try space.tree.flush(open)
    let saved = try space.pending()
    #expect(
      saved.hasPrefix("0 changed, 0 new, 0 removed; 1 saved under names of other files: a; next"))
    try space.run("commit")
    #expect(try space.read("a") == "three")
    #expect(try space.pending() == "0 changed, 0 new, 0 removed")
    // Somebody here gives the name to another: it is no longer this file's.
    try space.run("undo")
    try Array("four!".utf8).withUnsafeBytes { try space.tree.write(open, at: 0, $0) }
    try space.remove("a")
    #expect(try space.pending().hasPrefix("0 changed, 0 new, 1 removed; next version"))
    try space.tree.release(open)
  }

  @Test("a version that is no head needs a name to go on from")
  func switchAs() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    try space.run("commit")
    let first = try #require(try space.head)
    try space.write("a", "two")
    try space.run("commit")
    #expect(try space.failure("switch \(first)") == .grammar)
    try space.run("switch \(first) as old")
    #expect(try space.read("a") == "one")
    #expect(try space.service.version("head").line == "old")
    #expect(try space.failure("switch \(first) as old") == .exists)
  }

  @Test("a database is restored with its log, which a newer one would damage")
  func restoreDatabase() throws {
    let space = try ControlWorkspace()
    try space.write("x.db", "one")
    try space.write("d-wal", "one")
    try space.run("commit")
    try space.write("x.db", "two")
    try space.write("x.db-wal", "two")
    try space.write("d", "two")
    try space.run("commit")
    #expect(try space.run("restore head~ x.db").text.contains("1 changed, 1 removed"))
    #expect(try space.read("x.db") == "one")
    #expect(try space.read("x.db-wal") == nil)
    try space.run("restore head~ x.db")
    #expect(try space.read("x.db-wal") == "two")
    #expect(try space.read("d") == "two")
    // The log names its database, but not a file that was no database then.
    try space.run("restore head~ x.db-wal")
    #expect(try space.read("x.db") == "one")
    #expect(try space.read("x.db-wal") == nil)
    try space.write("d-wal", "two")
    try space.run("commit")
    try space.run("restore head~5 d-wal")
    #expect(try space.read("d") == "two" && space.read("d-wal") == "one")
  }

  @Test("a restore makes a new version with the old content, whole or at a path")
  func restore() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    try space.write("b", "one")
    try space.run("commit")
    let first = try space.service.version("head")
    try space.write("a", "two")
    try space.remove("b")
    try space.write("c", "new")
    try space.run("commit")
    try space.run("restore \(first.name) a")
    #expect(try space.read("a") == "one")
    #expect(try space.read("b") == nil)
    #expect(try space.read("c") == "new")
    try space.run("revert \(first.id.rawValue)")
    #expect(try space.read("b") == "one")
    #expect(try space.read("c") == nil)
    let restored = try space.service.version("head")
    #expect(restored.map.digest == first.map.digest)
    #expect(restored.number != first.number)
    #expect(try space.failure("restore \(first.name) nothing") == .notFound)
    #expect(try space.run("restore \(first.name)").text.contains("nothing to restore"))
    // The restored bytes are this version's own: nothing refers past a predecessor.
    let changes = try space.store.valueChanges(madeInVersionIdentifiedBy: restored.id)
    #expect(!changes.isEmpty)
    for change in changes {
      switch change {
      case .insert, .update, .remove: break
      case .preserve, .preserveRemoval: Issue.record("a restore preserves")
      }
    }
  }

  @Test("undo goes back step by step and redo forward, pending changes first")
  func undo() throws {
    let space = try ControlWorkspace()
    for text in ["one", "two", "three"] {
      try space.write("a", text)
      if text != "three" { try space.run("commit") }
    }
    try space.run("undo")
    #expect(try space.read("a") == "two")
    try space.run("undo")
    #expect(try space.read("a") == "one")
    #expect(try space.failure("undo") == .notFound)
    try space.run("redo")
    #expect(try space.read("a") == "two")
    try space.run("redo")
    #expect(try space.read("a") == "three")
    #expect(try space.failure("redo") == .notFound)
    try space.run("undo")
    try space.write("a", "four")
    #expect(try space.failure("redo") == .notFound)
    #expect(try space.read("a") == "four")
    try space.run("undo")
    #expect(try space.read("a") == "two")
  }

  @Test("undo after a switch goes back to the line, not to its content")
  func undoSwitch() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    try space.run("commit")
    try space.run("branch work")
    try space.write("a", "two")
    try space.run("commit")
    let work = try #require(try space.head)
    try space.run("switch -")
    #expect(try space.read("a") == "one")
    try space.run("undo")
    #expect(try space.head == work)
    #expect(try space.read("a") == "two")
    try space.run("redo")
    #expect(try space.read("a") == "one")
  }

  @Test("settings are checked, kept and in force at once")
  func set() throws {
    let space = try ControlWorkspace()
    try space.run("set settle=1s author=Ada automerge=off")
    #expect(space.service.settings.settle == 1_000_000_000)
    #expect(try space.store.state().settings["author"] == Array("Ada".utf8))
    #expect(try space.failure("set settle=soon") == .grammar)
    #expect(try space.failure("set arbiter=ours") == .grammar)
    try space.run("set 'arbiter=*.txt:most-recent-branch, *.json:json'")
    #expect(space.service.settings.arbiters.map(\.pattern) == ["*.txt", "*.json"])
    try space.write("a", "one")
    try space.run("commit")
    let author: String? = try space.store.metadata(of: try space.service.version("head"))[.author]?
      .value()
    #expect(author == "Ada")
    try space.run("set author=")
    #expect(try space.store.state().settings["author"] == nil)
  }

  @Test(
    "what is not there yet says so", arguments: ["purge a"])
  func unsupported(_ line: String) throws {
    #expect(try ControlWorkspace().failure(line) == .grammar)
  }

  @Test("a tag names a version wherever one is named, and moves where that is asked for")
  func tags() throws {
    let space = try ControlWorkspace()
    #expect(try space.failure("tag one") == .notFound)
    try space.write("a", "1")
    try space.run("tag one")
    let first = try #require(try space.head)
    try space.write("a", "2")
    try space.run("commit")
    let second = try #require(try space.head)
    #expect(try space.service.version("one").name == first)
    #expect(try space.service.status().text.contains("(1 head)"))
    #expect(try space.run("merge all").text.contains("nothing to merge"))
    #expect(try space.failure("branch llvs.tag/one") == .grammar)
    try space.run("branch side")
    #expect(try space.failure("tag side") == .exists)
    #expect(try space.failure("tag \(first)") == .exists)
    #expect(try space.failure("tag two nothing") == .notFound)
    try space.run("restore one a")
    #expect(try space.read("a") == "1")
    try space.run("tag two \(second)")
    try space.run("tag --force one two")
    #expect(try space.service.version("one").name == second)
    // A branch of that name would keep the tag from ever being moved.
    #expect(try space.failure("branch one") == .exists)
    #expect(try space.failure("switch one as one") == .exists)
    try space.run("switch one as again")
    #expect(try space.read("a") == "2")
  }

  /// What a command that is refused says.
  private func refusal(_ line: String, _ space: ControlWorkspace) throws -> String? {
    do {
      try space.run(line)
      return nil
    } catch let error as ControlError {
      #expect(error.kind == .exists)
      return error.message
    }
  }

  @Test("a name that lasts is not taken from its version, unless somebody says so")
  func lastingTags() throws {
    let space = try ControlWorkspace()
    try space.write("a", "1")
    try space.run("tag one")
    let first = try #require(try space.head)
    #expect(try space.run("tag one").text == "one is \(first)")
    try space.write("a", "2")
    try space.run("commit")
    let second = try #require(try space.head)
    try space.write("a", "3")
    let count = space.store.lastNumber
    #expect(
      try refusal("tag one \(second)", space)
        == "tag one exists (\(first)); to move it: llvs tag --force one \(second)")
    #expect(
      try refusal("tag one", space) == "tag one exists (\(first)); to move it: llvs tag --force one"
    )
    // No version was made for what is refused.
    #expect(space.store.lastNumber == count)
    #expect(try space.service.version("one").name == first)
    #expect(try space.failure("tag --force") == .grammar)
    let moved = try space.run("tag one head -f")
    #expect(moved.text == "one is \(second), moved from \(first)")
    #expect(moved.json.contains("\"movedFrom\":\"\(first)\""), "\(moved.json)")
    #expect(try refusal("tag one", space) != nil)
    let third = try #require(try space.head)
    #expect(try third != second && space.service.version("one").name == second)
    try space.run("tag --force one")
    #expect(try space.run("tag --force one").text == "one is \(third)")
    #expect(try space.run("tag two -f").text == "two is \(third)")
    #expect(try space.run("tag").text == "one  \(third)\ntwo  \(third)")
  }

  @Test("status tells the head, what is pending and the newest result")
  func status() throws {
    let space = try ControlWorkspace()
    #expect(try space.service.status().text.contains("head      none yet"))
    try space.write("a", "one")
    #expect(try space.service.status().text.contains("1 new"))
    try space.run("commit")
    _ = try space.failure("sync usb")
    let status = try space.service.status()
    #expect(status.text.contains("(1 head)"))
    #expect(status.text.contains("\nlast      error: sync usb: there is no peer usb"))
    #expect(status.reply.json.contains("\"heads\":1"))
  }

  /// The newest result, and when it came, as programs are told.
  private func last(_ space: ControlWorkspace) throws -> (line: String, time: String?) {
    let status = try space.service.status()
    let line = status.text.split(separator: "\n").last { $0.hasPrefix("last ") }
    var time: String?
    if case .text(let text)? = status.reply["lastTime"] { time = text }
    return (line.map { String($0.dropFirst(10)) } ?? "", time)
  }

  @Test("status tells when a command failed, until another does something")
  func lastFailure() throws {
    let space = try ControlWorkspace()
    #expect(try last(space) == ("nothing yet", nil))
    let before = TimestampText.now()
    _ = try space.failure("sync usb")
    let failed = try last(space)
    let time = try #require(failed.time)
    #expect((TimestampText.iso(before)...TimestampText.iso(TimestampText.now())).contains(time))
    let seconds = try #require(TimestampText.seconds(iso: time))
    let shown = TimestampText.short(seconds * 1_000_000_000)
    #expect(failed.line == "error: sync usb: there is no peer usb (\(shown))")
    // Who looks at how things stand goes on being told.
    for line in ["pending", "log", "tag", "conflicts", "set"] { try space.run(line) }
    #expect(try last(space) == failed)
    try space.run("set settle=1s")
    let done = try last(space)
    #expect(done.line == "ok set settle: settle=1s")
    #expect(try #require(done.time) >= time)
  }

  @Test("the store is verified")
  func verify() throws {
    let space = try ControlWorkspace()
    try space.write("a", String(repeating: "x", count: 100_000))
    try space.run("commit")
    #expect(try space.run("verify").text.contains("no damage found: 1 version,"))
  }
}
