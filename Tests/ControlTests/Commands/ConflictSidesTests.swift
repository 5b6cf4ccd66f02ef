import Events
import Foundation
import Grammar
import LLVSCore
import Platform
import TestSupport
import Testing
import WorkingTree

@testable import Control
@testable import TreeSupport

/// The makers of the sides of a conflict, and settling and opening it again.
@Suite("Conflicts that people see", .timeLimit(.minutes(2)))
struct ConflictSidesTests {
  /// Two stores that exchange through a folder, on machines and of authors of their own.
  private func pair() throws -> (ControlWorkspace, ControlWorkspace) {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    let folder = a.directory.file("folder")
    try FileSystem.makeDirectory(folder)
    for space in [a, b] { try space.service.setPeer("usb", address: Array("\(folder)\n".utf8)) }
    try a.run("set author=Ann machine=laptop")
    try b.run("set author=Bob machine=desk")
    return (a, b)
  }

  /// Both changed these files, the second later, and both know of it.
  private func clashed(_ names: [String]) throws -> (ControlWorkspace, ControlWorkspace) {
    let (a, b) = try pair()
    for name in names { try a.write(name, "base\n") }
    try a.run("sync")
    try b.run("sync")
    for name in names { try a.write(name, "of a\n") }
    try a.run("sync")
    for name in names { try b.write(name, "of b\n") }
    try b.run("commit")
    try b.run("sync")
    try a.run("sync")
    return (a, b)
  }

  private static let sides =
    #"kept: desk, Bob, \d\d:\d\d; dropped: laptop, Ann, \d\d:\d\d"#

  @Test("reply, status, list and log say who made each side, where and when")
  func told() throws {
    let (a, b) = try pair()
    try a.write("a", "base\n")
    try a.run("sync")
    try b.run("sync")
    try a.write("a", "of a\n")
    try a.run("sync")
    try b.write("a", "of b\n")
    try b.run("commit")
    let reply = try b.run("sync")
    let sides = try Regex(Self.sides)
    #expect(
      try reply.text.contains(Regex("1 conflict\nconflict: a \\(\(Self.sides)\\)")), "\(reply.text)"
    )
    try a.run("sync")
    for space in [a, b] {
      let list = try space.run("conflicts")
      #expect(list.text.hasPrefix("a: ") && list.text.contains(sides), "\(list.text)")
      let status = try space.service.status()
      #expect(status.text.contains(sides), "\(status.text)")
      for json in [list.json, status.reply.json] {
        let value = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        let all = (value?["conflictSides"] ?? value?["conflicts"]) as? [[String: Any]]
        let kept = all?.first?["kept"] as? [String: Any]
        let dropped = (all?.first?["theirs"] as? [[String: Any]])?.first
        #expect(kept?["author"] as? String == "Bob" && kept?["machine"] as? String == "desk")
        #expect(
          dropped?["author"] as? String == "Ann" && dropped?["machine"] as? String == "laptop")
        let time = dropped?["time"] as? String ?? ""
        #expect(time.hasPrefix("20") && time.hasSuffix("Z") && time.utf8.count == 24, "\(time)")
      }
    }
    #expect(EventLog(directory: b.store.path).lastLines(20).contains { $0.contains(sides) })
  }

  @Test(
    "a database and its log are taken from one side, also by settling one of them",
    arguments: ["x.db-wal ours", "x.db-wal theirs", "x.db theirs", "x.db-journal theirs"])
  func database(settled: String) throws {
    let settlesLog = settled.hasSuffix("theirs")
    let (a, b) = try pair()
    try a.write("x.db", "base")
    try a.write("x.db-wal", "base")
    try a.run("sync")
    try b.run("sync")
    try a.write("x.db-wal", "of a")
    try a.run("sync")
    try b.write("x.db", "of b")
    try b.run("commit")
    try b.run("sync")
    try a.run("sync")
    for space in [a, b] {
      #expect(try space.read("x.db") == "of b")
      #expect(try space.read("x.db-wal") == "base")
      let list = try space.run("conflicts").text
      #expect(
        list.contains("x.db-wal: kept: desk, Bob") && list.contains("dropped: laptop, Ann"),
        "\(list)")
    }
    // A program that reads the database writes it, and removes its log.
    try b.write("x.db", "of b, read")
    try b.remove("x.db-wal")
    try b.run("commit")
    #expect(try b.run("conflicts").text.contains("x.db-wal: kept"))
    try b.run("undo")
    try a.run("settle \(settled)")
    try a.run("sync")
    try b.run("sync")
    for space in [a, b] {
      #expect(try space.read("x.db") == (settlesLog ? "base" : "of b"))
      #expect(try space.read("x.db-wal") == (settlesLog ? "of a" : "base"))
      #expect(try space.run("conflicts").text == "no conflicts")
    }
  }

  @Test("a transaction of a database without a log settles nothing, and settle takes each side")
  func databaseWithoutLog() throws {
    let header = "SQLite format 3\0"
    let (a, b) = try pair()
    try a.write("x.db", header + "base")
    try a.run("sync")
    try b.run("sync")
    try a.write("x.db", header + "of a")
    try a.run("sync")
    try b.write("x.db", header + "of b")
    try b.run("sync")
    try b.write("x.db", header + "of b, and more")
    try b.run("commit")
    try b.run("sync")
    try a.run("sync")
    for space in [a, b] {
      #expect(try space.read("x.db") == header + "of b, and more")
      #expect(try space.run("conflicts").text.contains("dropped: laptop, Ann"))
    }
    try a.run("settle x.db theirs")
    try a.run("sync")
    try b.run("sync")
    for space in [a, b] {
      #expect(try space.read("x.db") == header + "of a")
      #expect(try space.run("conflicts").text == "no conflicts")
    }
  }

  @Test("of a merge that holds both sides it is told who made what clashed")
  func partial() throws {
    let (a, b) = try pair()
    try a.write("a", "1\n2\n3\n")
    try a.run("sync")
    try b.run("sync")
    try a.write("a", "one\n2\nthree\n")
    try a.run("sync")
    try b.write("a", "eins\n2\n3\n")
    try b.run("commit")
    try b.run("sync")
    #expect(try b.read("a") == "eins\n2\nthree\n")
    let sides = try Regex("^a: \(Self.sides)$")
    #expect(try b.run("conflicts").text.contains(sides))
  }

  /// Both changed the same place of a file, and the second another one.
  private func mixed(
    _ base: String, _ first: String, _ second: String, arbiter: String? = nil
  ) throws -> ControlWorkspace {
    let (a, b) = try pair()
    if let arbiter { try b.run("set arbiter=\(arbiter)") }
    try a.write("f", base)
    try a.run("sync")
    try b.run("sync")
    try a.write("f", first)
    try a.run("sync")
    try b.write("f", second)
    try b.run("commit")
    try b.run("sync")
    return b
  }

  @Test(
    "settling decides what clashes and keeps all else; whole takes one side's file",
    arguments: [
      ("settle f theirs", "0\n1\nA\n3\nfour\n", ": 1 line of theirs, 1 other line kept"),
      ("settle --whole f theirs", "0\n1\nA\n3\n4\n", ": 1 line of theirs, 1 other line dropped"),
      ("settle f theirs --whole", "0\n1\nA\n3\n4\n", ": 1 line of theirs, 1 other line dropped"),
      ("settle f ours", "0\n1\nB\n3\nfour\n", ""),
      ("settle f", "0\n1\nB\n3\nfour\n", ""),
      ("settle f --whole ours", "1\nB\n3\nfour\n", ""),
      ("settle f base", "1\n2\n3\n4\n", ""),
    ])
  func decided(command: String, text: String, lines: String) throws {
    let space = try mixed("1\n2\n3\n4\n", "0\n1\nA\n3\n4\n", "1\nB\n3\nfour\n")
    #expect(try space.read("f") == "0\n1\nB\n3\nfour\n")
    let reply = try space.run(command)
    #expect(try space.read("f") == text)
    #expect(reply.text.hasSuffix(" settled f\(lines)"), "\(reply.text)")
    #expect(try space.run("conflicts").text == "no conflicts")
    #expect(try space.failure("settle f base --whole") == .grammar)
  }

  @Test("properties that clash are settled, and the others stay")
  func properties() throws {
    let space = try mixed(
      #"{"a": 1, "b": 1, "c": 1}"#, #"{"a": 2, "b": 5, "c": 1}"#, #"{"a": 3, "b": 1, "c": 7}"#)
    #expect(try space.read("f") == #"{"a": 3, "b": 5, "c": 7}"#)
    try space.run("settle f theirs")
    #expect(try space.read("f") == #"{"a": 2, "b": 5, "c": 7}"#)
  }

  @Test("where an arbiter takes values whole, settling does too")
  func wholeValues() throws {
    let space = try mixed("1\n2\n3\n", "A\n2\n3\n", "B\n2\nthree\n", arbiter: "most-recent-change")
    #expect(try space.run("settle f theirs").text.hasSuffix(" settled f"))
    #expect(try space.read("f") == "A\n2\n3\n")
  }

  @Test("after undo of a settling it is told who made what is kept, of both sides' bytes too")
  func keptAfterUndo() throws {
    let space = try mixed("1\n2\n3\n", "A\n2\nthree\n", "B\n2\n3\n")
    let before = try space.run("conflicts").text
    #expect(before.contains(try Regex(Self.sides)))
    for side in ["theirs", "base", "--whole theirs"] {
      try space.run("settle f \(side)")
      try space.run("undo")
      #expect(try space.run("conflicts").text == before)
    }
    try space.run("settle --whole f ours")
    #expect(try space.read("f") == "B\n2\n3\n")
  }

  @Test(
    "after several settlings and undos it is still told who made or removed what is kept",
    arguments: [false, true])
  func keptTwice(isRemoval: Bool) throws {
    let (a, b) = try pair()
    for space in [a, b] { try space.run("set arbiter=most-recent-change") }
    try a.write("f", "base\n")
    try a.run("sync")
    try b.run("sync")
    try a.write("f", "of a\n")
    try a.run("sync")
    if isRemoval { try b.remove("f") } else { try b.write("f", "of b\n") }
    try b.run("commit")
    try b.run("sync")
    try a.run("sync")
    let before = try a.run("conflicts").text
    // An edit wins over a removal.
    let (kept, dropped) =
      isRemoval ? ("laptop, Ann", "desk, Bob") : ("desk, Bob", "laptop, Ann")
    #expect(before.contains("kept: \(kept)") && before.contains("dropped: \(dropped)"))
    #expect(before.contains("(removed it)") == isRemoval)
    for _ in 0..<3 {
      try a.run("settle f theirs")
      try a.run("undo")
      #expect(try a.run("conflicts").text == before)
    }
  }

  @Test("versions say who made them, and where, without a setting too")
  func defaults() throws {
    let space = try ControlWorkspace()
    try space.write("a", "one")
    try space.run("commit")
    let author = Author(try space.store.metadata(of: try space.service.version("head")))
    #expect(author.name == SystemProcess.userName && author.machine == SystemProcess.hostName)
    #expect(author.name?.isEmpty == false && author.machine?.isEmpty == false)
    #expect(try space.run("set author").text.hasPrefix("author=\(SystemProcess.userName)"))
    try space.run("set author=Ada machine=engine")
    try space.run("branch other")
    let branch = Author(try space.store.metadata(of: try space.service.version("head")))
    #expect(branch == Author(name: "Ada", machine: "engine"))
  }

  @Test(
    "all conflicts are settled at once, and those of a directory",
    arguments: ["settle --all", "settle /", "settle . ours", "settle --all theirs"])
  func all(command: String) throws {
    let (a, _) = try clashed(["a", "b", "c"])
    #expect(try a.service.openConflicts().count == 3)
    let reply = try a.run(command)
    let lines = command.hasSuffix("theirs") ? ": 3 lines of theirs" : ""
    #expect(reply.text.hasSuffix(" settled a, b, c\(lines)"), "\(reply.text)")
    #expect(try a.run("conflicts").text == "no conflicts")
    #expect(try a.read("b") == (command.hasSuffix("theirs") ? "of a\n" : "of b\n"))
    // A script may settle all without asking if there is any.
    #expect(try a.run(command).text == "there are no conflicts")
    #expect(try a.failure("settle b") == .notFound)
    #expect(try a.failure("settle") == .grammar)
  }

  @Test(
    "undo of settling opens the conflict again, everywhere, and redo closes it",
    arguments: [
      "settle a ours", "settle a theirs", "settle a base", "settle --all",
    ])
  func undone(command: String) throws {
    let (a, b) = try clashed(["a", "b"])
    // Who undoes stores what was kept anew.
    func open(_ space: ControlWorkspace) throws -> [String] {
      try space.run("conflicts").text.split(separator: "\n").map {
        "\($0.prefix { $0 != ":" }) \($0.split(separator: ";").last ?? "")"
      }
    }
    let before = try open(a)
    try a.run(command)
    let after = try open(a)
    let held = try a.read("a")
    #expect(after != before)
    try a.run("undo")
    #expect(try open(a) == before)
    #expect(try a.read("a") == "of b\n")
    try a.run("sync")
    try b.run("sync")
    #expect(try open(b) == before)
    #expect(try b.store.verify().damage.isEmpty)
    try a.run("redo")
    #expect(try open(a) == after)
    #expect(try a.read("a") == held)
    try a.run("undo")
    try a.run("settle --all")
    #expect(try a.run("conflicts").text == "no conflicts")
    try a.run("sync")
    try b.run("sync")
    #expect(try b.run("conflicts").text == "no conflicts")
  }

  @Test("undo of a save that settled opens the conflict again; what was settled before stays so")
  func undoneSave() throws {
    let (a, b) = try clashed(["a"])
    try a.run("settle a")
    // Another conflict on the same value.
    try a.run("sync")
    try b.run("sync")
    try a.write("a", "more of a\n")
    try a.run("sync")
    try b.write("a", "more of b\n")
    try b.run("commit")
    try b.run("sync")
    try a.run("sync")
    let head = try #require(try a.store.state().head)
    #expect(try a.store.openConflicts(at: head).map(\.theirs.count) == [1])
    try a.write("a", "both\n")
    try a.run("commit")
    #expect(try a.run("conflicts").text == "no conflicts")
    try a.run("undo")
    let now = try #require(try a.store.state().head)
    #expect(try a.store.openConflicts(at: now).map(\.theirs.count) == [1])
    // Also found anew, without what is remembered.
    let reader = try Store.open(path: a.store.path, mode: .reader)
    #expect(try reader.openConflicts(at: now).map(\.theirs.count) == [1])
  }

  @Test("commands run when a version is made, when files clash, and after a sync, with their paths")
  func hooks() throws {
    let (a, b) = try pair()
    let said = b.directory.file("said")
    for event in ["version", "conflict", "sync"] {
      try b.run(
        #"set 'on-\#(event)=f() { echo "$LLVS_EVENT $LLVS_VERSION $*" >> \#(said); }; f "$@"'"#)
    }
    try a.write("a", "base\n")
    try a.run("sync")
    try b.run("sync")
    try a.write("a", "of a\n")
    try a.run("sync")
    try b.write("a", "of b\n")
    try b.write("new name", "x")
    try b.run("commit")
    let own = try #require(try b.head)
    try b.run("sync")
    b.service.hooks.drain()
    let lines = try String(contentsOfFile: said, encoding: .utf8).split(separator: "\n").map(
      String.init)
    let head = try #require(try b.head)
    #expect(lines.contains("version \(own) a new name"), "\(lines)")
    #expect(lines.contains("conflict \(head) a"), "\(lines)")
    #expect(lines.count { $0.hasPrefix("sync ") } == 2, "\(lines)")
    #expect(lines.count { $0.hasPrefix("conflict ") } == 1, "\(lines)")
    // Taken as it is, another's version is none that was made here.
    #expect(lines.first?.hasPrefix("sync ") == true && lines.first?.hasSuffix(" a") == true)
  }

  @Test("a command that fails is a line of the log, and plain words get the paths behind them")
  func failingHook() throws {
    let space = try ControlWorkspace()
    let program = space.directory.file("program")
    try "#!/bin/sh\necho \"$# $1\" > \(program).said; echo no way >&2; exit 3\n".write(
      toFile: program, atomically: true, encoding: .utf8)
    try FileSystem.setMode(Array(program.utf8), 0o755)
    try space.run("set 'on-version=\(program) word'")
    try space.write("$(touch x)", "1")
    try space.run("commit")
    space.service.hooks.drain()
    #expect(try String(contentsOfFile: program + ".said", encoding: .utf8) == "2 word\n")
    let log = EventLog(directory: space.store.path).lastLines(5)
    #expect(log.contains { $0.contains("on-version: ") && $0.hasSuffix("ended with 3: no way") })
    func shown() throws -> Bool {
      try space.service.status().text.contains("\nhooks     on-version: ")
    }
    #expect(try shown())
    try "#!/bin/sh\n".write(toFile: program, atomically: false, encoding: .utf8)
    try space.write("b", "1")
    try space.run("commit")
    space.service.hooks.drain()
    #expect(try !shown())
  }
}
