import Foundation
import SQLite
import TestSupport
import Testing
import TreeModel

/// Random lives of programs beside kills. Each failure names its seed; `LLVS_TEST_SEED` runs that one alone, and
/// `LLVS_TEST_LIVES` says how many run.
@Suite(.timeLimit(.minutes(20)))
struct KilledLifeTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 12)
  }()

  @Test("Whenever it is killed, names, numbers, link counts, times and bytes are as they were")
  func lives() throws {
    DatabaseFaults.install()
    var kills = 0
    for seed in Self.seeds {
      let life = try KilledLife(seed: seed &+ 90_000)
      do {
        try life.run(60)
      } catch {
        Issue.record("seed \(seed): \(error)\n\(life.log.suffix(80).joined(separator: "; "))")
      }
      kills += life.kills
    }
    #expect(kills > 0)
  }
}
