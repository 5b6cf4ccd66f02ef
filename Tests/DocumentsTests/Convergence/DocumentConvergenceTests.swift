import Foundation
import Testing

@Suite("Stores and documents that exchange come to one state", .timeLimit(.minutes(20)))
struct DocumentConvergenceTests {
  /// `LLVS_TEST_DOCUMENTS=COUNT` plays so many histories of each kind.
  private static let count =
    Int(ProcessInfo.processInfo.environment["LLVS_TEST_DOCUMENTS"] ?? "") ?? 30

  @Test(
    "after any history nothing is lost, out of date, open again or exchanged for ever",
    arguments: [
      PlayedHistory.Shape(stores: 1, documents: 1, phones: 1), PlayedHistory.Shape(),
      PlayedHistory.Shape(mergesAsOriginal: false),
      PlayedHistory.Shape(stores: 3, documents: 2, phones: 2),
    ])
  func converges(shape: PlayedHistory.Shape) throws {
    for seed in 0..<Self.count {
      var history = try PlayedHistory(shape, seed: UInt64(seed))
      try history.play()
      for fault in history.faults { Issue.record("\(shape), seed \(seed): \(fault)") }
    }
  }
}
