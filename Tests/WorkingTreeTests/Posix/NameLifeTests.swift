import Foundation
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Lives at random: each failure names its seed, and `LLVS_TEST_SEED` lives that one alone. `LLVS_TEST_LIVES` says
/// how many live.
@Suite("Lives of names", .timeLimit(.minutes(10)))
struct NameLifeTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 8)
  }()

  @Test(
    "Whatever programs make, move, link and remove, names are what plain dictionaries say",
    arguments: JournalKind.allCases)
  func lives(kind: JournalKind) throws {
    for seed in Self.seeds {
      var life = try NameLife(seed: seed, over: kind)
      do {
        for step in 1...600 {
          try life.act()
          if step % 20 == 0 { try life.check() }
        }
        try life.fixture.checkRestart("seed \(seed)")
      } catch {
        Issue.record("seed \(seed): \(error)\n\(life.log.joined(separator: "; "))")
      }
    }
  }
}
