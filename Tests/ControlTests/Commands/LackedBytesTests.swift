import Grammar
import HistoryTree
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport

/// Merges that need bytes which a store has forgotten.
@Suite("Merges without bytes", .timeLimit(.minutes(2)))
struct LackedBytesTests {
  let clock = TurnedClock()
  private static let count = 300

  private static func text(_ seed: UInt64) -> [String] {
    (0..<count).map { ControlWorkspace.text(seed &* 1000 + UInt64($0), 60) }
  }

  private static func joined(_ lines: ArraySlice<String>) -> String {
    lines.joined(separator: "\n") + "\n"
  }

  /// The same text in two stores. Each changes one half, and both send it to one peer; `a` has forgotten the base.
  private struct Pair {
    let a: ControlWorkspace
    let b: ControlWorkspace
    let merged: String
    let older: String
    let newer: String
  }

  /// `isGone` is true if no peer has the bytes of the base.
  private func pair(isGone: Bool) throws -> Pair {
    let (a, b) = (
      try ControlWorkspace(clock: clock.clock), try ControlWorkspace(clock: clock.clock)
    )
    func set(_ name: String) throws {
      let folder = a.directory.file(name)
      try FileSystem.makeDirectory(folder)
      for space in [a, b] { try space.service.setPeer("usb", address: Array(folder.utf8)) }
    }
    try set("one")
    let (base, other) = (Self.text(1), Self.text(2))
    try a.write("t", Self.joined(base[...]))
    try a.run("sync")
    try b.run("sync")
    let half = Self.count / 2
    let older = other[..<half] + base[half...]
    let newer = base[..<half] + other[half...]
    try b.write("t", Self.joined(older))
    try b.run("commit")
    try a.write("t", Self.joined(newer))
    try a.run("sync")
    clock.pass(3 * TurnedClock.day)
    try a.run("keep all:1d")
    try a.run("compact")
    let first = try #require(try a.store.version(VersionNumber(1)))
    let stored = try #require(try a.store.map(of: first).entry(at: Key("t"))).stored
    #expect(try !a.store.canRead(stored))
    if isGone {
      // The other machine's versions come on another way.
      try set("two")
      try a.run("send")
      #expect(try a.store.retrieve(from: StoreSource(b.store)).taken.count == 1)
    } else {
      try b.run("send")
    }
    return Pair(
      a: a, b: b, merged: Self.joined(other[...]), older: Self.joined(older),
      newer: Self.joined(newer))
  }

  @Test("bytes that are forgotten here come from a peer, and both changes are merged")
  func fetched() throws {
    let pair = try pair(isGone: false)
    let text = try pair.a.run("sync").text
    #expect(!text.contains("waits") && !text.contains("conflict"), "\(text)")
    #expect(try pair.a.read("t") == pair.merged)
    #expect(try pair.a.store.state().settings[MergeWait.setting] == nil)
    try pair.b.run("sync")
    #expect(try pair.b.head == pair.a.head)
  }

  @Test("a merge waits a day for bytes that no peer has, and then takes the newer change")
  func waiting() throws {
    let pair = try pair(isGone: true)
    for _ in 0..<2 {
      let text = try pair.a.run("sync").text
      #expect(text.contains(" waits until "), "\(text)")
      #expect(text.contains(" for bytes of t that this store lacks"), "\(text)")
      #expect(try pair.a.read("t") == pair.newer)
      clock.pass(TurnedClock.day / 2 - TurnedClock.minute)
    }
    clock.pass(3 * TurnedClock.minute)
    let text = try pair.a.run("sync").text
    #expect(text.contains("the newer change of t is taken, because "), "\(text)")
    #expect(try pair.a.read("t") == pair.newer)
    #expect(try pair.a.run("conflicts").text.contains("t"))
    #expect(try pair.a.store.state().settings[MergeWait.setting] == nil)
    let log = try FileSystem.read("\(pair.a.store.path)/log", atMost: 1 << 20)
    #expect(String(decoding: log, as: UTF8.self).contains("the newer change of t is taken"))
    try pair.b.run("sync")
    #expect(try pair.b.head == pair.a.head)
  }

  @Test("merge and status say which version waits, for what, until when, and what ends the wait")
  func told() throws {
    let pair = try pair(isGone: true)
    #expect(try pair.a.service.status().reply["mergeWait"] == .null)
    let error = #expect(throws: ControlError.self) { try pair.a.run("merge") }
    let other = try #require(try pair.b.head)
    let time = TimestampText.short(clock.clock.now() + TurnedClock.day)
    for text in [error?.message ?? "", try pair.a.service.status().text] {
      #expect(text.contains("the merge with \(other) waits until "), "\(text)")
      #expect(text.contains(time.prefix(10)), "\(text)")
      #expect(text.contains(" for bytes of t that this store lacks; "), "\(text)")
      #expect(text.contains("\"llvs merge \(other)\" merges now"), "\(text)")
    }
    #expect(error?.kind == .forgotten && error?.done?.fields["waits"] != nil)
    let reply = try pair.a.service.status().reply["mergeWait"]
    #expect(reply?["heads"] == .list([.text(other)]))
    #expect(reply?["values"] == .number(1))
    #expect(try pair.a.run("merge --dry-run").text.contains("the merge needs bytes of t that "))
    // The log says once that it waits.
    try pair.a.run("sync")
    let log = try FileSystem.read("\(pair.a.store.path)/log", atMost: 1 << 20)
    #expect(String(decoding: log, as: UTF8.self).split(separator: " waits until ").count == 2)
    try pair.a.run("merge \(other)")
    #expect(try pair.a.service.status().reply["mergeWait"] == .null)
    #expect(try pair.a.store.state().settings[MergeWait.setting] == nil)
  }

  @Test("where the common version is forgotten, theirs is refused, and the whole file is taken")
  func settlingWithoutBase() throws {
    let pair = try pair(isGone: true)
    try pair.a.run("merge using text")
    let head = try pair.a.head
    let error = #expect(throws: ControlError.self) { try pair.a.run("settle t theirs") }
    #expect(error?.kind == .forgotten)
    let text = error?.message ?? ""
    #expect(text.contains("the bytes of the common version of t were forgotten on "), "\(text)")
    #expect(text.contains("\"llvs settle --whole t theirs\" takes the whole file"), "\(text)")
    #expect(try pair.a.head == head)
    #expect(try pair.a.run("conflicts").text.contains("t"))
    let conflict = try #require(
      try ControlService.openConflicts(in: pair.a.store, below: []).first)
    let texts = try #require(try ConflictTexts(conflict.conflict, in: pair.a.store))
    #expect(texts.lacksBase && texts.base.isEmpty && texts.sides.count == 2)
    let marked = try #require(texts.marked)
    #expect(texts.areMarkersLeft(in: marked))
    try pair.a.run("settle t ours")
    #expect(try pair.a.read("t") == pair.newer)
    #expect(try pair.a.run("conflicts").text == "no conflicts")
  }

  @Test("a merge by command does not wait, and a store without peers neither")
  func byCommand() throws {
    let pair = try pair(isGone: true)
    let line = try pair.a.run("merge using text").text
    #expect(line.contains("the newer change of t is taken, because "), "\(line)")
    #expect(try pair.a.read("t") == pair.newer)
  }

  @Test("a conflict is not settled with a value whose bytes are forgotten")
  func settling() throws {
    let pair = try pair(isGone: true)
    try pair.a.run("merge using text")
    let first = try #require(try pair.a.store.version(VersionNumber(1))).name
    let head = try pair.a.head
    for side in ["base", first] {
      let error = #expect(throws: ControlError.self) { try pair.a.run("settle t \(side)") }
      #expect(error?.kind == .forgotten)
      #expect(error?.message.contains("the bytes of t were forgotten on") ?? false, "\(side)")
    }
    #expect(try pair.a.head == head)
    #expect(try pair.a.read("t") == pair.newer)
    try pair.a.run("settle t theirs --whole")
    #expect(try pair.a.read("t") == pair.older)
  }

  @Test("the setting of waits is read as it was written, and damage in it is no fault")
  func setting() {
    #expect(MergeWait(nil).encoded == nil)
    let line = String(repeating: "a", count: 64) + " 5"
    let other = String(repeating: "b", count: 64)
    #expect(MergeWait(Array("\(line)\nx\n\(other) -1\n\(other)".utf8)).encoded == Array(line.utf8))
    let named = "\(line) a%20%FF/b%0A"
    let wait = MergeWait(Array(named.utf8))
    #expect(wait.keys == [Key(bytes: Array("a ".utf8) + [0xFF] + Array("/b\n".utf8))])
    #expect(wait.encoded == Array(named.utf8) && wait.end == 5 + MergeWait.patience)
  }
}
