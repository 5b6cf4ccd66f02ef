import Foundation
import SQLite
import TestSupport
import Testing
import TreeModel

/// Random lives of programs that heads leave behind (docs/writes.md, rules 7 and 8). Each failure names its seed;
/// `LLVS_TEST_SEED` runs that one alone, and `LLVS_TEST_LIVES` says how many run.
@Suite(.timeLimit(.minutes(20)))
struct BehindLifeTests {
  /// Lives that found a defect.
  private static let failed: [UInt64] = [55]
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 12)
  }()

  @Test(
    "What others wrote is merged unless who removes it has seen it, and a late showing changes nothing",
    arguments: BehindLife.Others.allCases)
  func lives(others: BehindLife.Others) throws {
    DatabaseFaults.install()
    for seed in Self.failed + Self.seeds {
      var transcripts: [[String]] = []
      for isLate in [false, true] {
        let directory = try TemporaryDirectory(inMemory: true)
        let life = try BehindLife(seed: seed, in: directory.path, others, isLate: isLate)
        do {
          try life.run(16)
        } catch {
          Issue.record(
            "seed \(seed), \(isLate): \(error)\n\(life.log.joined(separator: "; "))")
          break
        }
        transcripts.append(life.transcript)
        if isLate, transcripts[0] != transcripts[1] {
          let index = zip(transcripts[0], transcripts[1]).prefix { $0 == $1 }.count
          let said = transcripts.map { index < $0.count ? $0[index] : "-" }
          Issue.record(
            "seed \(seed): late \(said[1]), at once \(said[0])\n\(life.log.joined(separator: "; "))"
          )
        }
      }
    }
  }
}
