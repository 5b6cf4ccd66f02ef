import Foundation
import Testing

/// Cuts of random work beside the plain model. Each failure names its seed; `LLVS_TEST_SEED` runs that one alone, and
/// `LLVS_TEST_LIVES` says how many run.
@Suite(.timeLimit(.minutes(10)))
struct RecorderModelTests {
  private static let seeds: Range<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed..<(seed + 1) }
    return 0..<(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? 150)
  }()

  @Test("A cut of whatever programs did makes the versions that the model makes of it")
  func cuts() throws {
    for seed in Self.seeds {
      var work = try RecordedWork(seed: seed)
      do {
        try work.cut(seenBefore: false)
        try work.others()
        try work.cut(seenBefore: true)
      } catch {
        Issue.record("seed \(seed): \(error)\n\(work.log.joined(separator: "; "))")
      }
    }
  }
}
