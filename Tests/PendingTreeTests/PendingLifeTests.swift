import Foundation
import Testing
import TreeModel

@testable import PendingTree

/// Lives at random: each failure names its seed, and `LLVS_TEST_SEED` lives that one alone. `LLVS_TEST_LIVES` says
/// how many live.
@Suite(.timeLimit(.minutes(10)))
struct PendingLifeTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 300)
  }()

  @Test("Whatever programs do among cuts, merges, switches and kills, nothing is lost or twice")
  func lives() {
    for seed in Self.seeds {
      var life = Life<ModelTree>(seed: seed)
      do {
        try life.run(40)
      } catch {
        Issue.record("seed \(seed): \(error)\n\(life.log.joined(separator: "; "))")
      }
    }
  }
}
