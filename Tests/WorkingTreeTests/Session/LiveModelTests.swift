import Foundation
import HistoryTree
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport

/// The seeds of lives: that which `LLVS_TEST_SEED` says, else as many as `LLVS_TEST_LIVES` says.
private func seeds(_ count: UInt64) -> ClosedRange<UInt64> {
  let environment = ProcessInfo.processInfo.environment
  if let seed = environment["LLVS_TEST_SEED"].flatMap({ UInt64($0) }) { return seed...seed }
  return 1...(environment["LLVS_TEST_LIVES"].flatMap { UInt64($0) } ?? count)
}

/// Random lives of a live tree beside a naive file system.
@Suite(.timeLimit(.minutes(5)))
struct LiveModelTests {
  @Test(
    "whatever is done, cut, remounted or killed, tree and versions are the naive file system's",
    arguments: seeds(24))
  func randomLife(seed: UInt64) throws {
    let life = try ModelLife(seed: seed)
    do {
      for step in 0..<160 {
        try life.step()
        if step % 8 == 7 { try life.compare() }
      }
      try life.compare()
      try life.cut()
      #expect(try life.mounted.store.verify().isSound)
    } catch {
      Issue.record("seed \(seed): \(error)\n\(life.log.suffix(45).joined(separator: "\n"))")
    }
  }

  @Test(
    "names that come and go while a version is made are each in the next one",
    arguments: seeds(60))
  func namesUnderWay(seed: UInt64) throws {
    let life = try ModelLife(seed: seed, isOfNames: true)
    do {
      for _ in 0..<30 { try life.step() }
      try life.compare()
      try life.cut()
      try life.compare()
      try life.compareTimes()
      #expect(try life.mounted.store.verify().isSound)
    } catch {
      Issue.record("seed \(seed): \(error)\n\(life.log.suffix(45).joined(separator: "\n"))")
    }
  }
}
