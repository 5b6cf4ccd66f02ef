import Foundation
import SQLite
import TestSupport
import Testing

/// Random work over a real store. Each failure names its seed; `LLVS_TEST_SEED` runs that one alone, and
/// `LLVS_TEST_LIVES` says how many run.
@Suite(.timeLimit(.minutes(10)))
struct WorkingLifeTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 12)
  }()

  @Test(
    "Cuts, merges, switches, kills and restarts lose nothing, and the rows are always the head's")
  func lives() throws {
    DatabaseFaults.install()
    for seed in Self.seeds {
      let directory = try TemporaryDirectory(inMemory: true)
      let life = try WorkingLife(seed: seed, in: directory.path)
      do {
        try life.run(60)
      } catch {
        Issue.record("seed \(seed): \(error)\n\(life.log.joined(separator: "; "))")
      }
    }
  }
}
