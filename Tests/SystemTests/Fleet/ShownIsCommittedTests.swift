import HistoryTree
import LLVSCore
import TestSupport
import Testing

@testable import TreeSupport

/// Random lives of a store with files that directories displaced: nothing that the tree shows is in no version.
///
/// `LLVS_TEST_FLEET` says how many, `LLVS_TEST_SEED` which one alone.
@Suite(.timeLimit(.minutes(10)))
struct ShownIsCommittedTests {
  @Test(
    "where nothing is merged a version holds what the tree showed",
    arguments: Fleet.seeds("LLVS_TEST_FLEET"))
  func live(seed: UInt64) throws {
    let fleet = try Fleet(seed: seed, members: 2)
    do {
      for _ in 0..<25 { try fleet.stepShown() }
    } catch {
      Issue.record("seed \(seed): \(error)\n\(fleet.log.suffix(60).joined(separator: "\n"))")
    }
  }
}

extension Fleet {
  /// One step: both sides change the same names and are merged, then one goes on alone.
  fileprivate func stepShown() throws {
    for member in 0..<2 {
      for _ in 0..<Int.random(in: 1..<6, using: &random) { try edit(member) }
      note("m\(member) sync folder")
      try members[member].run("sync folder")
    }
    let member = members[0]
    note("m0 sync folder, commit")
    try member.run("sync folder")
    // What came besides has its numbers by then.
    try member.run("commit")
    try member.check()
    for _ in 0..<Int.random(in: 1..<8, using: &random) { try edit(0) }
    if chance(20) { try remount(member, kills: true) }
    let before = Self.places(try member.tree())
    note("m0 commit")
    try member.run("commit")
    let after = Self.places(try member.check())
    guard before != after else { return }
    let places = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
    let lines = places.map { "\($0.text): \(before[$0] ?? 0) / \(after[$0] ?? 0)" }
    throw Difference("shown and committed:\n\(lines.joined(separator: "\n"))")
  }

  private struct Place: Hashable {
    var directory: String
    /// Nil for what may be displaced: its name follows from what else is there.
    var name: String?
    var shown: FleetMember.Shown

    var text: String { "\(directory)/\(name ?? "*"): \(shown.text)" }
  }

  /// What is where, and how often, without the names of files: a displaced one's follows from what else is
  /// there.
  private static func places(_ tree: [String: FleetMember.Shown]) -> [Place: Int] {
    var places: [Place: Int] = [:]
    for (path, shown) in tree {
      let slash = path.lastIndex(of: "/")
      let place = Place(
        directory: slash.map { String(path[..<$0]) } ?? "",
        name: shown.kind == .directory ? slash.map { String(path[$0...]) } ?? path : nil,
        shown: shown.alone)
      places[place, default: 0] += 1
    }
    return places
  }
}
