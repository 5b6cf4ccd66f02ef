import Dispatch
import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Programs on several threads, and transitions on others.
@Suite(.timeLimit(.minutes(3)))
struct TransitionThreadsTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path)
  }

  @Test("Programs see their own files whole while heads come and go, and nothing of them is lost")
  func threads() throws {
    let base = try { () throws -> VersionNumber in
      for index in 0..<3 { try work.makeDirectory("dir\(index)") }
      try work.save("shared", "shared 0")
      return try #require(try work.cut().head?.number)
    }()
    let failures = Monitor<[String]>([])
    let running = Monitor(3)
    DispatchQueue.concurrentPerform(iterations: 5) { index in
      do {
        if index < 3 {
          defer { running.withLock { $0 -= 1 } }
          try programs(index)
        } else {
          try transitions(index, base) { running.withLock { $0 > 0 } }
        }
      } catch {
        failures.withLock { $0.append("thread \(index): \(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    for _ in 0..<2 { try work.cut() }
    try work.check()
    let texts = try work.texts()
    #expect(try work.recordedTexts() == texts)
    for index in 0..<3 {
      for file in 0..<4 { #expect(texts["dir\(index)/f\(file)"] == "round 59 of \(index)") }
    }
    #expect(work.tree.pending.changes.isEmpty)
    #expect(work.reports.withLock { $0 } == [])
  }

  /// Saves, moves and removes files of a directory that nobody else changes, and reads them.
  private func programs(_ index: Int) throws {
    for round in 0..<60 {
      let text = "round \(round) of \(index)"
      for file in 0..<4 {
        let path = "dir\(index)/f\(file)"
        if round % 7 == 3 {
          try work.save("\(path).new", text)
          try work.rename("\(path).new", path)
        } else {
          try work.save(path, text)
        }
        let found = try work.text(of: work.number(path))
        if found != text { throw StoreError.invalid("\(path) is \(found)") }
      }
      if round % 11 == 5 {
        try work.unlink("dir\(index)/f0")
        try work.makeDirectory("dir\(index)/sub\(round)")
        try work.rename("dir\(index)/f1", "dir\(index)/sub\(round)/f1")
      }
    }
  }

  /// Cuts, or merges what others make, as long as programs run.
  private func transitions(
    _ index: Int, _ base: VersionNumber, while isRunning: () -> Bool
  ) throws {
    var round = 0
    while isRunning() {
      round += 1
      if index == 3 {
        try work.cut(round % 2 == 0 ? .command : .quiet)
      } else {
        let other = try work.others(["theirs\(round % 5)": "round \(round)"], on: base)
        try work.merge(other)
      }
    }
  }

  @Test("An overdue cut waits for quiet, takes what had it, and gives way to a command")
  func overdue() throws {
    try work.save("a", "one")
    let settle: UInt64 = 300_000_000
    let begin = SystemClock.monotonic()
    work.versioner.setSettle(settle)
    let outcome = try work.cut(.overdue)
    #expect(SystemClock.monotonic() - begin >= settle)
    #expect(outcome.isNew)
    #expect(try work.recordedTexts() == ["a": "one"])
    try work.save("b", "two")
    work.versioner.setSettle(60_000_000_000)
    let outcomes = Monitor<[CutOutcome]>([])
    DispatchQueue.concurrentPerform(iterations: 2) { index in
      do {
        // The command comes once the other waits.
        if index == 1 { _ = Monitor(0).wait(nanoseconds: 200_000_000) { _ -> Int? in nil } }
        let outcome = try work.cut(index == 0 ? .overdue : .command)
        outcomes.withLock { $0.append(outcome) }
      } catch {
        Issue.record(error)
      }
    }
    let both = outcomes.withLock { $0 }
    #expect(both.count == 2)
    #expect(both.count { $0.gaveWay } == 1)
    #expect(both.count { $0.isNew } == 1)
    #expect(try work.recordedTexts() == ["a": "one", "b": "two"])
    try work.check()
  }

  @Test("A cut that waits for quiet goes by a shorter one as soon as that is set")
  func shorter() throws {
    try work.save("a", "one")
    work.versioner.setSettle(600_000_000_000)
    let versioner = work.versioner
    DispatchQueue.concurrentPerform(iterations: 2) { index in
      do {
        if index == 0 {
          try work.cut(.overdue)
        } else {
          _ = Monitor(0).wait(nanoseconds: 200_000_000) { _ -> Int? in nil }
          versioner.setSettle(300_000_000)
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(try work.recordedTexts() == ["a": "one"])
    try work.check()
  }

  @Test("An overdue cut leaves out a save that a write broke before it had its quiet")
  func broken() throws {
    try work.save("a", "one")
    let (_, handle) = try work.open("b")
    try work.write("first", through: handle)
    try work.tree.flush(handle)
    work.versioner.setSettle(1_000_000_000)
    DispatchQueue.concurrentPerform(iterations: 2) { index in
      do {
        if index == 0 {
          try work.cut(.overdue)
        } else {
          _ = Monitor(0).wait(nanoseconds: 300_000_000) { _ -> Int? in nil }
          try work.write("second", through: handle)
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(try work.recordedTexts() == ["a": "one"])
    try work.close(handle)
    try work.cut()
    #expect(try work.recordedTexts() == ["a": "one", "b": "second"])
    try work.check()
  }
}
