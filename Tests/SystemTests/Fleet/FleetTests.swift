import TestSupport
import Testing

@testable import TreeSupport

/// Random lives of several stores that are edited, exchange with each other, merge, and are killed.
///
/// `LLVS_TEST_FLEET` says how many fleets live, `LLVS_TEST_SEED` which one alone. Orders of dictionaries and
/// ids are not in the seed: SWIFT_DETERMINISTIC_HASHING=1 makes a life more alike.
@Suite(.timeLimit(.minutes(10)))
struct FleetTests {
  @Test(
    "whatever is edited, exchanged, merged and killed: trees are their heads, and nothing is lost",
    arguments: Fleet.seeds("LLVS_TEST_FLEET"), [false, true])
  func live(seed: UInt64, inPairs: Bool) throws {
    let fleet = try Fleet(seed: seed, members: 3 + Int(seed % 3), inPairs: inPairs)
    do {
      for _ in 0..<120 { try fleet.step() }
      try fleet.end()
    } catch {
      let how = inPairs ? ", in pairs" : ""
      Issue.record("seed \(seed)\(how): \(error)\n\(fleet.log.joined(separator: "\n"))")
    }
  }

  @Test(
    "members that forget different versions go on agreeing, and one that keeps all loses nothing")
  func forgetting() throws {
    var forgotten = 0
    for seed in Fleet.seeds("LLVS_TEST_FLEET") {
      let fleet = try Fleet(seed: seed, members: 3 + Int(seed % 3), forgetting: true)
      do {
        for _ in 0..<150 { try fleet.step() }
        try fleet.end()
      } catch {
        Issue.record("seed \(seed): \(error)\n\(fleet.log.joined(separator: "\n"))")
      }
      forgotten += fleet.forgotten
    }
    #expect(forgotten > 0)
  }
}
