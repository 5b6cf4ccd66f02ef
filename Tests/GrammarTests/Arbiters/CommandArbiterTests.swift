import Events
import Foundation
import Grammar
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport
@testable import WorkingTree

/// What a merge driver may cost, and who may name one.
@Suite(.timeLimit(.minutes(2)))
struct CommandArbiterTests {
  private let directory: TemporaryDirectory
  private let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(path: directory.file("store"), mode: .writer, create: true)
  }

  private func value(_ key: String, _ text: String) -> Value {
    Value(id: Value.ID(key), data: Array(text.utf8))
  }

  /// Merges two sides that changed a value by a command; returns what the merge holds there.
  private func merged(
    _ command: String, patience: UInt64 = CommandArbiter.patience, key: String = "a",
    first: String = "one\n", second: String = "two\n"
  ) throws -> [UInt8]? {
    let root = try store.makeVersion(basedOnPredecessor: nil, inserting: [value(key, "base\n")])
    let versions = try [first, second].map {
      try store.makeVersion(basedOnPredecessor: root.id, updating: [value(key, $0)])
    }
    let sides = try versions.map { try #require(try store.version($0.id)).number }
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.merge(sides[1], into: sides[0], line: nil) {
        CommandArbiter(command, $0, store, patience: patience)
      }
    }
    let made = try #require(report.made.first)
    return try store.value(id: Value.ID(key), at: made.record.id)?.data
  }

  private func leftovers() throws -> [String] {
    try FileSystem.list(store.path).filter { $0.hasPrefix("merge-") }
  }

  @Test("a command at work ends when the merge is given up, and nothing of it stays")
  func cancelled() throws {
    let root = try store.makeVersion(basedOnPredecessor: nil, inserting: [value("a", "base\n")])
    let sides = try ["one\n", "two\n"].map {
      let version = try store.makeVersion(
        basedOnPredecessor: root.id, updating: [value("a", $0)])
      return try #require(try store.version(version.id)).number
    }
    let start = SystemClock.monotonic()
    let error = #expect(throws: StoreError.self) {
      try store.write { (transaction) throws(StoreError) in
        try transaction.merge(sides[1], into: sides[0], line: nil) {
          CommandArbiter(
            "sleep 300; true", $0, store, patience: 60_000_000_000,
            isCancelled: { SystemClock.monotonic() - start > 300_000_000 })
        }
      }
    }
    guard case .cancelled? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(SystemClock.monotonic() - start < 20_000_000_000)
    #expect(try store.state().lastNumber == 3)
    #expect(try leftovers() == [])
  }

  @Test("a program that names no file is given them behind its words")
  func program() throws {
    let driver = directory.file("driver")
    try "#!/bin/sh\n[ $# = 4 ] && cat \"$2\" \"$3\" \"$4\" > \"$3.new\" && mv \"$3.new\" \"$3\"\n"
      .write(
        toFile: driver, atomically: true, encoding: .utf8)
    try FileSystem.setMode(Array(driver.utf8), 0o755)
    #expect(try merged("\(driver) word") == Array("base\none\ntwo\n".utf8))
    // A variable is no file.
    #expect(try merged("\(driver) $HOME", key: "b") == Array("base\none\ntwo\n".utf8))
  }

  @Test(
    "a command that takes too long is ended, with what it started, and the newest value is taken")
  func time() throws {
    let mark = directory.file("started")
    let start = SystemClock.monotonic()
    let bytes = try merged(
      "sleep 300 & echo $! > '\(mark)'; wait", patience: 300_000_000)
    let elapsed = Double(SystemClock.monotonic() - start) / 1e9
    #expect(elapsed < 30)
    #expect(bytes == Array("two\n".utf8))
    let text = try String(contentsOfFile: mark, encoding: .utf8)
    let process = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    // Ended, and not only left behind: it may take a moment until somebody reaps it.
    let isGone = eventually {
      let state = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
      return state.isEmpty || state.contains(") Z ")
    }
    #expect(isGone)
    #expect(try leftovers() == [])
  }

  @Test(
    "a command that leaves or says too much fills no disk, and the newest value is taken",
    arguments: [
      #"head -c 64000000 /dev/zero > "$2""#,
      #"head -c 64000000 /dev/zero > "$2.more"; exit 1"#,
      #"head -c 64000000 /dev/zero; head -c 64000000 /dev/zero >&2; exit 3"#,
    ])
  func output(_ command: String) throws {
    #expect(try merged(command) == Array("two\n".utf8))
    #expect(try leftovers() == [])
  }

  @Test("a result of just the length that is allowed is taken")
  func longest() throws {
    let bytes = try merged(
      #"head -c \#(CommandArbiter.maximumLength) /dev/zero | tr '\\0' x > "$2""#)
    #expect(bytes?.count == CommandArbiter.maximumLength)
  }

  @Test("names and bytes are files to the command, never text to the shell")
  func quoting() throws {
    let mark = directory.file("mark")
    let evil = "'; touch \(mark); '\"$(touch \(mark))`touch \(mark)`\n"
    let bytes = try merged(
      #"cat "$1" "$2" "$3" > "$2.new" && mv "$2.new" "$2""#,
      key: "$(touch \(mark)) `touch \(mark)`; touch \(mark) \"'", first: evil, second: evil + "2\n")
    #expect(bytes == Array(("base\n" + evil + evil + "2\n").utf8))
    #expect(try !FileSystem.exists(mark))
    // What is left in the place of the result is a file of the command's own, or nothing is taken.
    #expect(try merged(#"rm "$2"; ln -s /etc/passwd "$2""#) == Array("two\n".utf8))
    #expect(try merged(#"rm "$2"; mkfifo "$2""#) == Array("two\n".utf8))
    #expect(try leftovers() == [])
  }

  /// A store whose head and another one clash at four names, with a command for them.
  private func clashing(_ command: String) throws -> ControlWorkspace {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    let folder = directory.file("x")
    try FileSystem.makeDirectory(folder)
    for space in [a, b] { try space.service.setPeer("x", address: Array("\(folder)\n".utf8)) }
    for name in ["a", "b", "c", "d"] { try a.write(name, "base\n") }
    try a.run("sync")
    try b.run("sync")
    for space in [a, b] {
      for name in ["a", "b", "c", "d"] { try space.write(name, "\(space === a)\n") }
    }
    try b.run("sync")
    try a.run("set 'arbiter=exec \(command)'")
    return a
  }

  @Test("a merge that waits for its command ends where the end of all is near, and takes nothing")
  func interruption() throws {
    let mark = directory.file("mark")
    let space = try clashing("touch \(mark); sleep 5; false")
    let kind = Monitor<ControlError.Kind?>(nil)
    try SystemThread.detach {
      let failure = try? space.failure("sync")
      kind.withLock { $0 = failure }
      kind.broadcast()
    }
    #expect(try eventually { try FileSystem.exists(mark) })
    let began = SystemClock.monotonic()
    space.service.interrupt()
    #expect(kind.wait(nanoseconds: 60_000_000_000) { $0 } == .interrupted)
    #expect(SystemClock.monotonic() - began < 4_000_000_000)
    #expect(try space.read("a") == "true\n")
    #expect(try space.failure("commit") == .interrupted)
  }

  private func errors(_ space: ControlWorkspace) -> [String] {
    space.service.log.lastLines(100).filter { $0.contains(" error arbiter: ") }
  }

  @Test(
    "a command that fails is told of in the reply, in the log with what it said, and in the status")
  func told() throws {
    let driver = directory.file("driver")
    try "#!/bin/sh\necho no way >&2; echo more >&2; exit 3\n".write(
      toFile: driver, atomically: true, encoding: .utf8)
    try FileSystem.setMode(Array(driver.utf8), 0o755)
    let space = try clashing(driver)
    let said = "\(driver) ended with 3: no way"
    let reply = try space.run("sync")
    #expect(
      reply.text.contains(
        "; the arbiter failed on 4 values, and the newest are taken (a: \(said), ...)"),
      "\(reply.text)")
    #expect(reply.json.components(separatedBy: "\"reason\":").count == 5, "\(reply.json)")
    let lines = errors(space)
    #expect(lines.count == 4)
    #expect(lines.last?.hasSuffix("arbiter: d: \(said); the newest value is taken") == true)
    let status = try space.service.status()
    #expect(status.text.contains("the arbiter failed on 4 values"), "\(status.text)")
    #expect(status.reply.json.contains("\"arbiterFailures\":4"))
    // Until the next merge that asks one and does not fail.
    try space.run("set 'arbiter=exec true'")
    try space.write("a", "mine\n")
    try space.run("commit")
    #expect(try space.run("merge --dry-run").text == "nothing to merge")
    #expect(try space.service.status().text.contains("the arbiter failed"))
    let head = try #require(try space.store.state().head.flatMap { try space.store.version($0) })
    for text in ["one\n", "two\n"] {
      _ = try space.store.makeVersion(basedOnPredecessor: head.id, updating: [value("a", text)])
    }
    #expect(try !space.run("merge").text.contains("arbiter"))
    #expect(try !space.service.status().text.contains("the arbiter failed"))
  }

  @Test("a command that is not there is asked twice in a merge, and the log says so")
  func missing() throws {
    let space = try clashing("/nowhere/driver")
    let reply = try space.run("merge")
    #expect(reply.text.contains("nothing to merge"))
    try space.run("retrieve")
    try space.run("merge")
    let lines = errors(space)
    #expect(lines.count == 4, "\(lines)")
    #expect(lines.filter { $0.contains(": /nowhere/driver ended with 127: ") }.count == 2)
    #expect(lines.filter { $0.contains(": /nowhere/driver is not asked again; ") }.count == 2)
    // The next merge asks again.
    try space.write("a", "mine\n")
    let head = try #require(try space.store.state().head.flatMap { try space.store.version($0) })
    _ = try space.store.makeVersion(basedOnPredecessor: head.id, updating: [value("a", "other\n")])
    #expect(try space.run("merge").text.contains("failed on 1 value, and the newest is taken"))
  }

  @Test("a command that hangs costs a merge its patience twice, however many values clash")
  func hanging() throws {
    let names = (0..<8).map { "v\($0)" }
    let root = try store.makeVersion(
      basedOnPredecessor: nil, inserting: names.map { value($0, "base\n") })
    let sides = try ["one\n", "two\n"].map { text in
      let version = try store.makeVersion(
        basedOnPredecessor: root.id, updating: names.map { value($0, text) })
      return try #require(try store.version(version.id)).number
    }
    let (trials, mark) = (ArbiterTrials(), directory.file("asked"))
    _ = try store.write { (transaction) throws(StoreError) in
      try transaction.merge(sides[1], into: sides[0], line: nil) {
        CommandArbiter(
          "echo >> '\(mark)'; sleep 300; true", $0, store, patience: 1_000_000_000, trials: trials)
      }
    }
    #expect(try String(contentsOfFile: mark, encoding: .utf8) == "\n\n")
    let text = try #require(trials.text)
    #expect(text.hasPrefix("the arbiter failed on 8 values"), "\(text)")
    #expect(text.contains("took longer than 1 s"), "\(text)")
  }

  @Test("a command is this store's own: no peer can bring or name one")
  func peers() throws {
    let (a, b) = (try ControlWorkspace(), try ControlWorkspace())
    let folder = directory.file("x")
    try FileSystem.makeDirectory(folder)
    let mark = directory.file("mark")
    for space in [a, b] { try space.service.setPeer("x", address: Array("\(folder)\n".utf8)) }
    try a.write("f", "base\n")
    // Whatever else a tree or a version may say.
    try a.write(".gitattributes", "* merge=evil\n")
    try a.run("sync")
    try b.run("sync")
    try a.run("set 'arbiter=exec touch \(mark); exit 1'")
    let head = try #require(try a.store.state().head.flatMap { try a.store.version($0) })
    let told = try a.store.makeVersion(
      basedOnPredecessor: head.id, updating: [value("f", "of a\n")],
      metadata: [
        Version.MetadataKey("arbiter"): Version.MetadataValue("exec touch \(mark)"),
        Version.MetadataKey("llvs.arbiter"): Version.MetadataValue("exec touch \(mark)"),
      ])
    try a.run("send")
    try b.write("f", "of b\n")
    try b.run("sync")
    #expect(try b.store.version(told.id) != nil)
    #expect(try b.store.openConflicts(at: try #require(try b.store.state().head)).count == 1)
    #expect(try !FileSystem.exists(mark))
  }
}
