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
  private static let failed: [UInt64] = [55, 160, 216, 252]
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
      let steps = RandomSteps(seed: seed &+ 7_000)
      guard try failure(steps, others) != nil else { continue }
      let shrunk = try steps.shrunk { try failure($0, others)?.kind }
      let said = try failure(shrunk.again(), others)?.said
      Issue.record("seed \(seed): \(said ?? "does not fail again")")
    }
  }

  /// Lives once with each new head shown at once, and once late; returns how that fails.
  private func failure(
    _ steps: RandomSteps, _ others: BehindLife.Others
  ) throws -> (kind: String, said: String)? {
    var transcripts: [[String]] = []
    for (isLate, steps) in [(false, steps), (true, steps.again())] {
      let directory = try TemporaryDirectory(inMemory: true)
      let life = try BehindLife(steps, in: directory.path, others, isLate: isLate)
      let log = { life.log.joined(separator: "; ") }
      do {
        try life.run(16)
      } catch {
        // Of a fault the last word says what it is.
        let kind = "\(error)".split(separator: " ").last.map(String.init) ?? ""
        return (kind, "late \(isLate): \(error)\n\(log())")
      }
      transcripts.append(life.transcript)
      guard isLate, transcripts[0] != transcripts[1] else { continue }
      let index = zip(transcripts[0], transcripts[1]).prefix { $0 == $1 }.count
      let said = transcripts.map { index < $0.count ? $0[index] : "-" }
      return ("late", "late \(said[1]), at once \(said[0])\n\(log())")
    }
    return nil
  }
}
