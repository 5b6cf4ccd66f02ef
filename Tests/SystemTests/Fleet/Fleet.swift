import Foundation
import Grammar
import HistoryTree
import LLVSCore
import Platform
import TestSupport
import WorkingTree

@testable import Control
@testable import TreeSupport

/// Several stores that are edited at random, exchange, merge and die, and what must be true of them.
final class Fleet {
  struct Difference: Error, CustomStringConvertible {
    let description: String
    init(_ text: String) { description = text }
  }

  /// An open file that outlives steps.
  struct Held {
    let file: KernelModel.Open
    let member: Int
  }

  let directory: TemporaryDirectory
  let seed: UInt64
  private(set) var members: [FleetMember] = []
  var random: SeededRandom
  var held: [Held] = []
  private(set) var log: [String] = []
  private var marks = 0
  /// What commits have taken, and where it was first.
  private var taken: [String: String] = [:]
  /// The peers of each member.
  private let peers: [[String]]
  /// True if all members but the first forget old versions.
  private let forgets: Bool
  /// The number of versions that members forgot.
  private(set) var forgotten = 0

  /// The seeds of lives: that which `LLVS_TEST_SEED` says, else as many as a variable says, or three.
  static func seeds(_ variable: String) -> [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return [seed] }
    return Array(0..<(environment[variable].flatMap { UInt64($0) } ?? 3))
  }

  /// Creates members that have peers in common; in pairs, each peer is that of a member and the next one.
  init(seed: UInt64, members count: Int, forgetting: Bool = false, inPairs: Bool = false) throws {
    self.seed = seed
    forgets = forgetting
    peers = (0..<count).map { number in
      inPairs
        ? ["pair\(number)", "pair\((number + count - 1) % count)"]
        : ["folder", "second", "bundles"]
    }
    random = SeededRandom(seed: seed)
    directory = try TemporaryDirectory()
    for peer in Set(peers.joined()) { try FileSystem.makeDirectory(directory.file(peer)) }
    for number in 0..<count {
      let member = try FleetMember(directory.path, number: number)
      members.append(member)
      try member.run("set settle=1h")
      for peer in peers[number] {
        let isBundle = ["bundles", "pair0", "pair2"].contains(peer)
        let address = (isBundle ? "bundle+" : "plain+") + directory.file(peer)
        try member.service.setPeer(peer, address: Array(address.utf8))
      }
    }
    try begin()
  }

  private func begin() throws {
    let kernel = members[0].kernel
    for path in ["a", "b", "b/c", "e"] { try kernel.makeDirectory(path) }
    for file in 0..<6 {
      let lines = (0..<12).map { "\(file) line \($0)\n" }
      try kernel.save("a/f\(file)", Array(lines.joined().utf8))
    }
    for file in 0..<3 {
      let pairs = (0..<5).map { " \"k\($0)\": \($0)" }
      try kernel.save("b/c/g\(file).json", Array("{\n\(pairs.joined(separator: ",\n"))\n}".utf8))
      try kernel.save("e/bin\(file)", random.bytes(3000))
    }
    try kernel.makeLink("b/ln", to: "../a/f1")
    try kernel.link("a/f2", "e/h2")
    try kernel.makePipe("b/pipe")
    for _ in 0..<2 { for member in members { try member.run("sync") } }
  }

  private var copies = 0

  /// A directory for what a killed daemon would leave.
  func placeOfCopy() -> String {
    copies += 1
    return directory.file("killed-\(copies)")
  }

  func note(_ text: String) { log.append(text) }

  /// Text that is nowhere else.
  func mark(_ member: Int) -> String {
    marks += 1
    return "T\(member)x\(marks)T"
  }

  func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  // MARK: - Steps

  func step() throws {
    let index = Int.random(in: 0..<members.count, using: &random)
    let member = members[index]
    if forgets, chance(6) { return try forget(member) }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<56: for _ in 0..<Int.random(in: 1..<5, using: &random) { try edit(index) }
    case 56..<62: try holdOrUse(index)
    case 62..<70: try command(member, "commit")
    case 70..<74: try settle(member)
    case 74..<77: try travel(member)
    case 77:
      let arbiters = ["most-recent-change", "most-recent-branch", "keep-both", "text", "json"]
      try command(member, "set arbiter=\(arbiters.randomElement(using: &random) ?? "text")")
    case 78: try command(member, "set automerge=\(chance(50) ? "on" : "off")")
    case 79..<81: try remount(member, kills: false)
    case 81..<83: try remount(member, kills: true)
    case 83..<85: try command(member, "merge")
    case 85..<87: try syncWithStore(index)
    default:
      let peer = peers[index].randomElement(using: &random) ?? ""
      let verb =
        chance(80) ? "sync" : ["send", "retrieve", "exchange"].randomElement(using: &random) ?? ""
      try command(member, "\(verb) \(peer)")
    }
    try checkMemory()
  }

  /// What is true after each step.
  func checkMemory() throws {
    for member in members {
      guard let fault = try member.service.tree.fault() else { continue }
      throw Difference("m\(member.number): \(fault)")
    }
  }

  func command(_ member: FleetMember, _ line: String, mayFail: Bool = false) throws {
    note("m\(member.number) \(line)")
    do {
      try member.run(line)
    } catch let error as ControlError where mayFail {
      note("  \(error.message)")
    }
    if line == "commit" || chance(30), try isAllSaved(member) { try check(member) }
  }

  /// Shows another version, by one of the commands for that.
  private func travel(_ member: FleetMember) throws {
    let versions = try member.store.versions(afterName: nil, limit: .max)
    guard let version = versions.randomElement(using: &random) else { return }
    let name = version.id.rawValue
    let line =
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<3: "undo"
      case 3..<5: "redo"
      case 5..<8: "restore \(name)"
      case 8: "switch \(name) as line\(log.count)"
      default: "switch -"
      }
    try command(member, line, mayFail: true)
  }

  /// Lets a member forget every version that nothing needs and that all others have.
  private func forget(_ member: FleetMember) throws {
    guard member.number > 0 else { return }
    try command(member, "sync")
    let store = member.store
    var needed: Set<VersionNumber> = []
    for record in try store.versions(afterName: nil, limit: .max)
    where try members.contains(where: { try $0.store.version(record.id) == nil }) {
      needed.insert(record.number)
    }
    let report = try store.forget(
      try KeepPolicy(chance(50) ? "all:0s" : "all:0s,hourly"),
      at: SystemClock.now() + 1_000_000_000,
      besides: { () throws(StoreError) in
        var roots = try member.service.tree.roots()
        roots.versions.formUnion(needed)
        return roots
      })
    forgotten += report.newlyForgotten
    note("m\(member.number) forgets \(report.newlyForgotten)")
    try check(member)
    try checkMemory()
  }

  private func isAllSaved(_ member: FleetMember) throws -> Bool {
    let pending = member.service.tree.pending()
    return pending.due == nil && pending.unsaved.isEmpty
  }

  func settle(_ member: FleetMember) throws {
    guard let open = try member.service.openConflicts().randomElement(using: &random) else {
      return
    }
    let how = ["", "ours", "theirs", "base"].randomElement(using: &random) ?? ""
    let path = String(decoding: open.path, as: UTF8.self)
    guard !path.utf8.contains(0x0A) else { return }
    note("m\(member.number) settle \(path) \(how)")
    let settlement: Settlement =
      switch how {
      case "": .asIs
      case "ours": .ours
      case "theirs": .theirs(1)
      default: .base
      }
    do {
      _ = try member.service.settle(open.path, settlement)
    } catch {
      // What is pending may have settled it.
      note("  \(error.message)")
    }
    if try isAllSaved(member) { try check(member) }
  }

  func remount(_ member: FleetMember, kills: Bool) throws {
    note("m\(member.number) \(kills ? "kill" : "remount")")
    for one in held where one.member == member.number { try member.kernel.close(one.file) }
    held.removeAll { $0.member == member.number }
    if !kills { try member.run("commit") }
    let before = try member.live()
    member.kill()
    try member.mount()
    try FleetMember.compare(before, try member.live(), "m\(member.number) before and after")
    if !kills { try check(member) }
  }

  /// Syncs with another member's store itself, which is unmounted meanwhile.
  private func syncWithStore(_ index: Int) throws {
    let other = members[(index + 1) % members.count]
    guard !held.contains(where: { $0.member == other.number }) else { return }
    try other.run("commit")
    other.kill()
    defer { try? other.mount() }
    let member = members[index]
    try member.service.setPeer("next", address: Array(other.path.utf8))
    try command(member, "sync next")
    try member.service.removePeer("next")
  }

  // MARK: - What must be true

  /// Nothing is pending: the tree is its head.
  func check(_ member: FleetMember) throws {
    let live = try member.check()
    for (path, shown) in live where shown.kind == .regular {
      for mark in Self.marks(in: shown.bytes) where taken[mark] == nil {
        taken[mark] = "m\(member.number) \(path), line \(log.count) of the log"
      }
    }
  }

  static func marks(in bytes: [UInt8]) -> [String] {
    var found: [String] = []
    func isOfMark(_ byte: UInt8) -> Bool {
      byte >= 0x30 && byte <= 0x39 || byte == 0x54 || byte == 0x78
    }
    for word in bytes.split(whereSeparator: { !isOfMark($0) })
    where word.first == 0x54 && word.last == 0x54 && word.count > 4 && word.contains(0x78) {
      found.append(String(decoding: word, as: UTF8.self))
    }
    return found
  }

  /// Lets all sync with all until nothing comes any more, and holds them against each other.
  func end() throws {
    note("end")
    for one in held { try members[one.member].kernel.close(one.file) }
    held = []
    for member in members {
      try command(member, "switch -", mayFail: true)
      try member.run("set automerge=on")
    }
    var rounds = 0
    var counts: [UInt32] = []
    // A member that has the head of all may not have yet what another left on a line of its own.
    while true {
      guard rounds < 8 else {
        throw Difference("no end: heads \(try members.map { try $0.store.graph.heads().count })")
      }
      let before = counts
      for member in members { try command(member, "sync") }
      rounds += 1
      counts = try members.map { try $0.versionCount() }
      if try agree(), counts == before { break }
    }
    for _ in 0..<2 { for member in members { try command(member, "sync") } }
    guard try members.map({ try $0.versionCount() }) == counts else {
      throw Difference("a sync with nothing to do made a version")
    }
    let conflicts = try members.map { try $0.run("conflicts").text }
    guard Set(conflicts).count == 1 else { throw Difference("conflicts: \(conflicts)") }
    // Names of a file that had parted somewhere stay apart there: see LinkNumbers.
    let first = try members[0].live().mapValues { $0.alone }
    for member in members {
      try check(member)
      try FleetMember.compare(
        first, try member.live().mapValues { $0.alone }, "m0 and m\(member.number)")
      guard try member.store.verify().isSound else { throw Difference("a store is not sound") }
      var kept: Set<String> = []
      if forgets, member.number > 0 {
        try remount(member, kills: chance(50))
        continue
      }
      for bytes in try member.history() { kept.formUnion(Self.marks(in: bytes)) }
      let lost = taken.filter { !kept.contains($0.key) }
      guard lost.isEmpty else { throw Difference("m\(member.number) has lost \(lost)") }
      try remount(member, kills: chance(50))
    }
  }

  private func agree() throws -> Bool {
    let heads = try members.map { member in
      try member.head().map { try member.store.id(of: $0).rawValue } ?? ""
    }
    return Set(heads).count == 1
  }
}
