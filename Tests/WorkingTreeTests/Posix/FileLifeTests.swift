import Foundation
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Lives at random: each failure names its seed, and `LLVS_TEST_SEED` lives that one alone. `LLVS_TEST_LIVES` says
/// how many live.
@Suite("Lives of files", .timeLimit(.minutes(10)))
struct FileLifeTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 20)
  }()

  @Test(
    "Whatever handles write, cut, punch and save, files are what plain arrays are",
    arguments: JournalKind.allCases)
  func lives(kind: JournalKind) throws {
    for seed in Self.seeds {
      var life = try FileLife(seed: seed, over: kind)
      do {
        for _ in 0..<60 {
          try life.act()
          try life.check()
        }
        try life.fixture.checkRestart("seed \(seed)")
      } catch {
        Issue.record("seed \(seed): \(error)\n\(life.log.joined(separator: "; "))")
      }
    }
  }
}
