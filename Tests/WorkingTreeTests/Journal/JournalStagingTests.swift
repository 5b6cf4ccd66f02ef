import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

@Suite("Bytes that wait for the change that names them", .timeLimit(.minutes(1)))
final class JournalStagingTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
  }

  private func keeper() throws -> JournalKeeper {
    try JournalKeeper(directory.file("journal"), isRenewed: true)
  }

  /// Makes files whose bytes were staged; the changes that write them come in another order.
  private func fill(_ keeper: JournalKeeper, meanwhile: (Int) throws -> Void) throws {
    let numbers = try (0..<3).map { try keeper.create("file\($0)") }
    var staged: [[Extent]] = []
    for index in 0..<3 {
      staged.append(
        try JournalKeeper.stage(Array("bytes \(index)".utf8), at: 0, in: keeper.journal))
      try meanwhile(index)
    }
    for index in [2, 0, 1] {
      for extent in staged[index] {
        try keeper.append(.write(numbers[index], extent, [], seen: nil))
      }
      try keeper.append(.save(numbers[index]), freeing: true)
    }
  }

  private func check(_ keeper: JournalKeeper) throws {
    for index in 0..<3 { #expect(try keeper.text("file\(index)") == "bytes \(index)") }
  }

  @Test("Bytes of several calls are written whatever comes between them and their changes")
  func several() throws {
    for meanwhile in 0..<4 {
      let keeper = try keeper()
      try fill(keeper) { index in
        switch meanwhile {
        case 1: try keeper.renew()
        case 2: try keeper.create("other\(index)")
        case 3: try keeper.journal.sync()
        default: break
        }
      }
      try check(keeper)
      try check(try JournalKeeper(directory.file("journal")))
      try FileSystem.removeTree(directory.file("journal"))
    }
  }

  @Test("A write is one call, its bytes and its change")
  func oneCall() throws {
    let keeper = try keeper()
    let number = try keeper.create("a")
    let before = keeper.journal.instant
    let calls = Monitor(0)
    let watch = Faults.watch(below: keeper.directory) { call, phase in
      if call == .write, phase == .before { calls.withLock { $0 += 1 } }
    }
    defer { Faults.unwatch(watch) }
    try keeper.write(number, [1, 2, 3])
    #expect(calls.withLock { $0 } == 1)
    #expect(keeper.journal.instant != before)
  }

  @Test("Bytes that are given up leave nothing in the journal")
  func abandoned() throws {
    let keeper = try keeper()
    let number = try keeper.create("a")
    let before = keeper.journal.instant
    try JournalKeeper.stage([1, 2, 3], at: 0, in: keeper.journal)
      .forEach(keeper.journal.abandon)
    #expect(keeper.journal.instant == before)
    try keeper.write(number, Array("whole".utf8))
    #expect(try keeper.text("a") == "whole")
  }
}
