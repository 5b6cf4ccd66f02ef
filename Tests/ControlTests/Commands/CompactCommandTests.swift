import Glibc
import Platform
import TestSupport
import Testing

@testable import Control
@testable import Grammar
@testable import LLVSCore
@testable import TreeSupport
@testable import WorkingTree

/// The system's clock, turned by a test.
final class TurnedClock: Sendable {
  private struct Turn {
    var now: Int64 = 0
    var boottime: Int64 = 0
    var boot = 1
  }

  private let turn = Monitor(Turn())

  var clock: ServiceClock {
    ServiceClock(
      now: { [self] in turn.withLock { SystemClock.now() + $0.now } },
      boottime: { [self] in
        turn.withLock { UInt64(max(0, Int64(SystemClock.boottime()) + $0.boottime)) }
      }, bootID: { [self] in "boot\(turn.withLock { $0.boot })" })
  }

  static let day: Int64 = 86_400_000_000_000
  static let minute: Int64 = 60_000_000_000

  /// Lets time pass.
  func pass(_ nanoseconds: Int64) {
    turn.withLock { turn in
      turn.now += nanoseconds
      turn.boottime += nanoseconds
    }
  }

  /// Sets the clock without time passing.
  func leap(_ nanoseconds: Int64) { turn.withLock { $0.now += nanoseconds } }

  func restart(after nanoseconds: Int64) {
    turn.withLock { turn in
      turn.now += nanoseconds
      turn.boot += 1
    }
  }
}

extension ControlWorkspace {
  static func text(_ seed: UInt64, _ length: Int) -> String {
    var random = SeededRandom(seed: seed)
    return String(decoding: random.bytes(length).map { 97 + $0 % 26 }, as: UTF8.self)
  }

  /// Makes versions of a file; returns the names of all versions.
  @discardableResult
  func fill(_ count: Int, length: Int = 60_000) throws -> [String] {
    try (0..<count).map { index in
      try write("big.txt", Self.text(UInt64(index), length))
      if index == 0 { try write("small.txt", Self.text(99, 9000)) }
      if index == 1 { try write("small.txt", "short") }
      try run("commit")
      return try head ?? ""
    }
  }
}

@Suite("Compact and keep", .timeLimit(.minutes(2)))
struct CompactCommandTests {
  let clock = TurnedClock()

  private func workspace() throws -> ControlWorkspace { try ControlWorkspace(clock: clock.clock) }

  private static func number(_ reply: ReplyValue, _ name: String) -> Int64? {
    if case .number(let number)? = reply[name] { number } else { nil }
  }

  @Test("keep is shown and set, as words, with commas and as a setting")
  func keep() throws {
    let space = try workspace()
    #expect(try space.run("keep").text == "keep=all: every version")
    let set = try space.run("keep weekly:5y all:30d daily:1y")
    #expect(set.reply["keep"] == .text("all:30d,daily:1y,weekly:5y"))
    #expect(try space.run("set keep").text.hasPrefix("keep=all:30d,daily:1y,weekly:5y"))
    try space.run("set 'keep=all:2d, daily'")
    #expect(
      try space.run("keep").text
        == "keep=all:2d,daily: every version for 2d, the last version of each day")
    #expect(try space.failure("keep all:often") == .grammar)
    #expect(try space.failure("set keep=nothing") == .grammar)
    #expect(try space.failure("compact now") == .grammar)
    try space.run("set keep=")
    #expect(try space.run("keep").reply["keep"] == .text("all"))
  }

  @Test("a trial says what goes by file and month, and compact forgets it")
  func compact() throws {
    let space = try workspace()
    let versions = try space.fill(4)
    #expect(try space.run("compact").text.hasPrefix("nothing to forget with keep=all; "))
    clock.pass(3 * TurnedClock.day)
    let trial = try space.run("keep all:2d --dry-run")
    #expect(trial.text.hasPrefix("keep=all:2d forgets 3 versions and frees "))
    #expect(Self.number(trial.reply, "versions") == 3)
    guard case .list(let paths)? = trial.reply["paths"],
      case .list(let months)? = trial.reply["months"]
    else {
      Issue.record("no paths: \(trial.reply)")
      return
    }
    #expect(paths.map { $0["path"] } == [.text("big.txt"), .text("small.txt")])
    #expect(
      paths.compactMap { Self.number($0, "bytes") }.reduce(0, +)
        == Self.number(trial.reply, "bytes"))
    #expect(months.compactMap { Self.number($0, "versions") }.reduce(0, +) == 3)
    try space.run("keep all:2d")
    #expect(try space.run("compact --dry-run").text == trial.text)
    #expect(try space.service.status().text.contains("would free "))
    let done = try space.run("compact")
    #expect(done.text.hasPrefix("3 versions forgotten, ") && done.text.hasSuffix(" came free"))
    #expect(Self.number(done.reply, "bytes") == Self.number(trial.reply, "bytes"))
    #expect(try #require(Self.number(done.reply, "freedBytes")) > 50_000)
    let status = try space.service.status()
    #expect(status.text.contains("forgot 3 versions") && !status.text.contains("would free"))
    #expect(try space.run("compact").text == "nothing to forget with keep=all:2d")
    // The newest run that forgot something is remembered.
    #expect(try space.service.status().text.contains("forgot 3 versions"))
    #expect(try space.run("keep").text.hasSuffix("3 versions forgotten so far"))
    #expect(try space.read("big.txt") == ControlWorkspace.text(3, 60_000))
    #expect(try space.store.version(named: versions[0]) != nil)
    #expect(try space.store.verify().isSound)
  }

  @Test("pending changes, open files of history and unsent versions keep what they need")
  func roots() throws {
    let space = try workspace()
    let versions = try space.fill(5)
    let second = try #require(try space.store.version(named: versions[1]))
    let key = Key("big.txt")
    let stored = try #require(try space.store.map(of: second).entry(at: key)).stored
    let open = space.service.openHistory.insert(stored)
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    #expect(Self.number(try space.run("compact").reply, "versions") == 4)
    #expect(try space.store.contents.bytes(stored) == Array(ControlWorkspace.text(1, 60_000).utf8))
    space.service.openHistory.remove(open)
    try space.run("compact")
    #expect(throws: StoreError.self) { try space.store.contents.bytes(stored) }

    // A peer that lacks versions.
    try space.service.setPeer("hub", address: Array(space.directory.file("hub").utf8))
    try space.fill(3)
    clock.pass(3 * TurnedClock.day)
    let kept = try space.run("compact")
    #expect(
      kept.text.contains(
        "hub lacks 8 versions; the bytes of 4 are forgotten already, the others are kept until it has them"
      ))
    #expect(Self.number(kept.reply, "versions") == 0)
    try space.run("set hub.direction=retrieve-only")
    #expect(try #require(Self.number(try space.run("compact").reply, "versions")) > 1)
    #expect(try space.store.verify().isSound)
  }

  @Test("a peer that lacks kept versions alone, or forgotten ones alone, is named so")
  func notes() throws {
    let space = try workspace()
    try space.fill(3)
    try space.service.setPeer("hub", address: Array(space.directory.file("hub").utf8))
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    let kept = try space.run("compact")
    #expect(kept.text.contains("hub lacks 3 versions, whose bytes are kept until it has them"))
    try space.run("set hub.direction=retrieve-only")
    let done = try space.run("compact")
    #expect(done.text.hasPrefix("2 versions forgotten, ") && !done.text.contains("hub"))
  }

  @Test(
    "a trial of many small changes says what the run then frees, and what is on the disk is read")
  func smallChanges() throws {
    let space = try workspace()
    var lines = (0..<600).map { "line \($0) of a note, which is long enough" }
    var versions: [String] = []
    for index in 0..<40 {
      lines[index * 13] = "edit \(index)"
      try space.write("note", lines.joined(separator: "\n"))
      try space.run("commit")
      versions.append(try space.head ?? "")
    }
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    let trial = try space.run("compact --dry-run")
    #expect(
      trial.text.hasPrefix("keep=all:1d forgets 39 versions and frees 0 B\nthe versions have "))
    #expect(Self.number(trial.reply, "freedBytes") == 0)
    #expect(try !space.service.status().text.contains("would free"))
    let done = try space.run("compact")
    #expect(done.text.hasPrefix("39 versions forgotten, 0 B came free"))
    #expect(Self.number(done.reply, "bytes") == Self.number(trial.reply, "bytes"))
    // The bytes are in blocks that have others, and are stored again.
    let old = try #require(try space.store.version(named: versions[3]))
    let stored = try #require(try space.store.map(of: old).entry(at: Key("note"))).stored
    #expect(try !space.store.hasBytes(of: stored) && space.store.canRead(stored))
    let bytes = try space.store.contents.bytes(stored)
    try space.run("restore \(versions[3])")
    #expect(try Array((space.read("note") ?? "").utf8) == bytes)
    let head = try #require(try space.store.headRecord())
    let restored = try #require(try space.store.map(of: head).entry(at: Key("note"))).stored
    #expect(try space.store.hasBytes(of: restored))
    #expect(try space.store.verify().isSound)
  }

  @Test("a run that forgets no more versions says whose bytes came free")
  func again() throws {
    #expect(
      ControlService.text(of: ForgetReport(forgotten: 3, freedBytes: 295_000))
        == "295 kB of versions came free that were forgotten before")
    let space = try workspace()
    try space.store.write { (transaction) throws(StoreError) in
      transaction.set(CompactionRecord.setting, to: Array("run 1000 0 295000".utf8))
    }
    #expect(try space.service.status().text.contains("295 kB of forgotten versions came free"))
  }

  @Test("a tag, and a time whose version is forgotten, say so")
  func forgottenVersions() throws {
    let space = try workspace()
    let versions = try space.fill(2)
    // A time has whole seconds.
    let time = SystemClock.now() / 1_000_000_000
    usleep(1_100_000)
    try space.fill(1)
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    try space.run("tag kept \(versions[0])")
    try space.run("compact")
    let tag = try space.run("tag old \(versions[1])").text
    #expect(tag.hasPrefix("old is \(versions[1]), whose bytes were forgotten on "), "\(tag)")
    let restored = try space.run("restore at/@\(time)")
    #expect(restored.text.contains(" as \(versions[0]), "))
    #expect(
      restored.text.contains(
        "\n\(versions[0]) is the newest version of that time that is kept: the bytes of \(versions[1]) were"
      ), "\(restored.text)")
    #expect(try space.run("restore \(versions[0])").reply["note"] == nil)
  }

  @Test("a restore leaves a database as it is if a file of it has no bytes")
  func database() throws {
    let space = try workspace()
    var versions: [String] = []
    // The database of the first two versions is the same, and the second is tagged.
    for (state, log) in [(1, 1), (1, 2), (3, 3)] {
      try space.write("x.db", ControlWorkspace.text(UInt64(state), 60_000))
      try space.write("x.db-wal", ControlWorkspace.text(UInt64(10 + log), 60_000))
      try space.write("note", ControlWorkspace.text(UInt64(20 + state), 60_000))
      try space.run("commit")
      versions.append(try space.head ?? "")
    }
    try space.run("tag kept \(versions[1])")
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    try space.run("compact")
    let error = try #require(throws: ControlError.self) { try space.run("restore \(versions[0])") }
    #expect(error.kind == .forgotten)
    #expect(error.message.contains("x.db stays as it is"), "\(error.message)")
    #expect(try space.read("x.db") == ControlWorkspace.text(3, 60_000))
    #expect(try space.read("x.db-wal") == ControlWorkspace.text(13, 60_000))
    #expect(try space.read("note") == ControlWorkspace.text(21, 60_000))
    try space.run("restore kept")
    #expect(try space.read("x.db-wal") == ControlWorkspace.text(12, 60_000))
  }

  @Test("a restore of a time that leaves out files says which version it took")
  func partialRestore() throws {
    let space = try workspace()
    let (store, key) = (space.store, Key("big.txt"))
    // A kept version without bytes, as a peer sends it that has forgotten them.
    let root = try store.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      let entry = Entry(
        key: key, kind: .regular, attributes: Attributes(mode: 0o644),
        stored: transaction.absentValue(Digest.of([1]), length: 5000), storedVersion: number,
        revision: try transaction.allotRevisions())
      return try transaction.add(
        NewVersion(
          number: number, id: .random(), first: nil, timestamp: 0,
          map: try store.map(of: nil).applying(edits: [.put(entry)]).root))
    }
    let bytes = Array(ControlWorkspace.text(7, 60_000).utf8)
    try store.makeVersion(
      basedOnPredecessor: root.id, storing: [.insert(Value(id: key, data: bytes))])
    try space.run("merge")
    let time = SystemClock.now() / 1_000_000_000
    usleep(1_100_000)
    try space.fill(2)
    try space.run("tag kept \(root.name)")
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    try space.run("compact")
    do {
      try space.run("restore at/@\(time)")
      Issue.record("the file without bytes was restored")
    } catch let error as ControlError {
      #expect(error.kind == .forgotten && error.message.contains("were never received"))
      let done = try #require(error.done)
      #expect(done.text.contains("\(root.name) is the newest version of that time that is kept"))
      #expect(done.fields["note"] != nil)
    }
  }

  @Test("nothing is forgotten for a day after the clock leapt or went back")
  func clocks() throws {
    let space = try workspace()
    try space.fill(3)
    try space.run("keep all:30d")
    try space.run("compact")
    clock.leap(400 * TurnedClock.day)
    #expect(try space.failure("compact") == .busy)
    #expect(try space.service.status().text.contains("the clock went back or leapt"))
    clock.pass(TurnedClock.day / 2)
    #expect(try space.failure("compact --dry-run") == .busy)
    clock.leap(-400 * TurnedClock.day)
    #expect(try space.failure("compact") == .busy)
    clock.pass(TurnedClock.day - 10 * TurnedClock.minute)
    #expect(try space.failure("compact") == .busy)
    clock.pass(11 * TurnedClock.minute)
    #expect(Self.number(try space.run("compact").reply, "versions") == 0)
    // A machine that was off.
    clock.restart(after: 40 * TurnedClock.day)
    #expect(Self.number(try space.run("compact").reply, "versions") == 2)
    clock.restart(after: 400 * TurnedClock.day)
    #expect(try space.failure("compact") == .busy)
    clock.restart(after: 2 * TurnedClock.day)
    try space.run("compact")
    clock.restart(after: -2 * TurnedClock.day)
    #expect(try space.failure("compact") == .busy)
  }

  @Test("a canceled run ends at once, and the next one does the rest")
  func cancelled() throws {
    let space = try workspace()
    try space.fill(6)
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    var steps: Set<String> = []
    for calls in 1...400 {
      let count = Monitor(0)
      let seen = Monitor<Set<String>>([])
      let context = CommandContext(
        isCancelled: {
          count.withLock { count in
            count += 1
            return count >= calls
          }
        }, progress: { now in seen.withLock { _ = $0.insert(now.what) } })
      do throws(ControlError) {
        try space.service.run([Array("compact".utf8)], context: context)
        break
      } catch {
        #expect(error.kind == .interrupted)
      }
      steps.formUnion(seen.withLock { $0 })
    }
    #expect(steps.isSuperset(of: ["reading versions", "freeing bytes"]))
    #expect(try space.store.forgottenVersions().count == 5)
    #expect(try space.store.verify().isSound)
    #expect(try space.read("big.txt") == ControlWorkspace.text(5, 60_000))
  }

  @Test("a trial counts what an interrupted run has not freed yet")
  func left() throws {
    let space = try workspace()
    try space.fill(4)
    clock.pass(3 * TurnedClock.day)
    try space.run("keep all:1d")
    let isFreeing = Monitor(false)
    let context = CommandContext(
      isCancelled: { isFreeing.withLock { $0 } },
      progress: { step in isFreeing.withLock { $0 = $0 || step.what == "freeing bytes" } })
    #expect(throws: ControlError.self) {
      try space.service.run([Array("compact".utf8)], context: context)
    }
    let trial = try space.run("compact --dry-run")
    #expect(
      trial.text.hasPrefix("an interrupted run left ")
        && trial.text.contains(" of forgotten versions to free"), "\(trial.text)")
    let bytes = try #require(Self.number(trial.reply, "freedBytes"))
    #expect(bytes > 50_000)
    let freed = try #require(Self.number(try space.run("compact").reply, "freedBytes"))
    // A segment that is rewritten frees parts of blocks, too.
    #expect(freed >= bytes, "\(freed) of \(bytes)")
    let after = try space.run("compact --dry-run").text
    #expect(after == "nothing to forget with keep=all:1d", "\(after)")
  }

  @Test("the record of compaction is read as it was written, and damage in it is no fault")
  func record() {
    var record = CompactionRecord()
    record.run = CompactionRecord.Run(time: 5, versions: 3, freed: 7)
    record.estimate = CompactionRecord.Estimate(
      time: 6, versions: 1, bytes: 2, keep: "all:1d,daily")
    record.tried = 9
    record.clock = ClockWitness(now: 4, boottime: 3, bootID: "b", doubt: nil)
    #expect(CompactionRecord(record.encoded) == record)
    record.clock?.doubt = 4
    #expect(CompactionRecord(record.encoded) == record)
    #expect(
      CompactionRecord(Array("run x\nestimate 1\nclock\n\nother 1".utf8)) == CompactionRecord())
    #expect(CompactionRecord(nil) == CompactionRecord())
  }
}
