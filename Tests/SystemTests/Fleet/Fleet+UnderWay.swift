import LLVSCore
import TestSupport
import WorkingTree

@testable import TreeSupport

// Commands while which programs go on.

extension Fleet {
  /// One step of a life in which the first member is given commands while its programs go on.
  func stepUnderWay(isStrict: Bool) throws {
    let member = members[0]
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<25: for _ in 0..<Int.random(in: 1..<4, using: &random) { try edit(0) }
    case 25..<35: try holdOrUse(0)
    case 35..<50:
      // What is to be merged.
      for _ in 0..<Int.random(in: 1..<6, using: &random) { try edit(1) }
      note("m1 sync folder, m0 retrieve folder")
      try members[1].run("sync folder")
      try member.run("retrieve folder")
    case 50..<54: if isStrict { try settle(member) }
    case 54..<58: if isStrict { try remount(member, kills: chance(50)) }
    default: try commandUnderWay(0, isStrict: isStrict)
    }
    if isStrict { try checkMemory() }
  }

  /// A command that puts another tree under a member's, or may.
  func commandUnderWay(_ index: Int, isStrict: Bool) throws {
    let life = try UnderWay(self, index, try anyMove(members[index]), isStrict: isStrict)
    try life.run()
    try life.end()
  }

  private func anyMove(_ member: FleetMember) throws -> String {
    // By their numbers: names begin alike within a second, and go on at random.
    let records = try member.store.versions(afterName: nil, limit: .max)
      .sorted { $0.number.rawValue < $1.number.rawValue }
    let version = records.randomElement(using: &random)?.name ?? "head"
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<2: return "cut"
    case 2..<6: return "merge"
    case 6..<9: return "undo"
    case 9: return "redo"
    case 10..<13: return "restore \(version)"
    case 13: return "restore \(version) a b/c"
    case 14: return "branch n\(log.count)"
    case 15: return "switch \(version) as n\(log.count)"
    case 16..<19:
      let lines = try member.store.lines(after: nil, limit: 100).filter { !$0.hasPrefix("llvs.") }
      return "switch \(lines.randomElement(using: &random) ?? "-")"
    default: return "merge all"
    }
  }
}
