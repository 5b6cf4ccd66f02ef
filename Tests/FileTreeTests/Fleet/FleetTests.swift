import Foundation
import TestSupport
import Testing

/// Random lives of several stores that are edited, exchange with each other, merge, and are killed.
///
/// `LLVS_TEST_FLEET` says how many fleets live, `LLVS_TEST_SEED` which one alone. Orders of dictionaries and
/// ids are not in the seed: SWIFT_DETERMINISTIC_HASHING=1 makes a life more alike.
@Suite(.timeLimit(.minutes(10)))
struct FleetTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seeds: [UInt64] =
    environment["LLVS_TEST_SEED"].flatMap { UInt64($0) }.map { [$0] }
    ?? (0..<(environment["LLVS_TEST_FLEET"].flatMap { UInt64($0) } ?? 3)).map { $0 }

  @Test(
    "whatever is edited, exchanged, merged and killed: trees are their heads, and nothing is lost",
    arguments: seeds)
  func live(seed: UInt64) throws {
    let fleet = try Fleet(seed: seed, members: 3 + Int(seed % 3))
    do {
      for _ in 0..<120 { try fleet.step() }
      try fleet.end()
    } catch {
      Issue.record("seed \(seed): \(error)\n\(fleet.log.joined(separator: "\n"))")
    }
  }
}
