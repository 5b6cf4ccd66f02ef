import Foundation
import Testing

/// `LLVS_TEST_DOCUMENTS=COUNT` plays so many histories of each kind, `LLVS_TEST_SEED=SEED` that one alone.
private let count = Int(ProcessInfo.processInfo.environment["LLVS_TEST_DOCUMENTS"] ?? "") ?? 40

private var seeds: Range<UInt64> {
  let seed = ProcessInfo.processInfo.environment["LLVS_TEST_SEED"].flatMap { UInt64($0) }
  return seed.map { $0..<($0 + 1) } ?? 0..<UInt64(count)
}

@Suite(
  "Stores and documents that exchange come to one state",
  .timeLimit(.minutes(20 + count / 10)))
struct DocumentConvergenceTests {
  @Test(
    "after any history nothing is lost, out of date, open again or exchanged for ever",
    arguments: [
      PlayedHistory.Shape(stores: 1, documents: 1, phones: 1), PlayedHistory.Shape(),
      PlayedHistory.Shape(mergesAsOriginal: false),
      PlayedHistory.Shape(stores: 3, documents: 2, phones: 2), PlayedHistory.Shape(setsBack: true),
    ])
  func converges(shape: PlayedHistory.Shape) throws {
    for seed in seeds {
      var history = try PlayedHistory(shape, seed: seed)
      try history.play()
      for fault in history.faults { Issue.record("\(shape), seed \(seed): \(fault)") }
    }
  }
}
