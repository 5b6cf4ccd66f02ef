import Foundation
import TestSupport
import Testing

@testable import TreeSupport

/// Random lives of a store whose programs go on while merges, switches, undo and restore put another tree
/// under them.
///
/// `LLVS_TEST_UNDER_WAY` says how many, `LLVS_TEST_SEED` which one alone, `LLVS_TEST_STRICT` that also
/// whatever a next version mends is looked at: see ``UnderWay``.
@Suite(.timeLimit(.minutes(10)))
struct UnderWayTests {
  private static let isStrict = ProcessInfo.processInfo.environment["LLVS_TEST_STRICT"] != nil

  @Test(
    "what programs save while another tree is put under them is not lost, killed or not",
    arguments: Fleet.seeds("LLVS_TEST_UNDER_WAY"))
  func live(seed: UInt64) throws {
    let fleet = try Fleet(seed: seed, members: 2)
    do {
      for _ in 0..<(Self.isStrict ? 40 : 12) { try fleet.stepUnderWay(isStrict: Self.isStrict) }
    } catch {
      Issue.record("seed \(seed): \(error)\n\(fleet.log.suffix(60).joined(separator: "\n"))")
    }
  }
}
