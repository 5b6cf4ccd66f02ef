import Inodes
import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Calls of the system that fail during a transition, one after the other.
@Suite(.timeLimit(.minutes(10)))
struct TransitionFaultTests {
  /// A tree with changes pending, and a version to merge.
  private func prepare(_ work: TreeAtWork) throws -> VersionNumber {
    try work.makeDirectory("d")
    for name in ["d/a", "d/b", "c"] { try work.save(name, "first \(name)") }
    let first = try #require(try work.cut().head?.number)
    let other = try work.others(["theirs": "theirs", "d/b": "theirs too"], on: first)
    try work.save("c", "second c")
    try work.rename("d", "moved")
    try work.save("moved/new", "new")
    return other
  }

  @Test(
    "Whichever write or sync fails, the tree is that before or after, and the next transition goes on",
    arguments: [SystemCall.write, .sync], [true, false])
  func failing(call: SystemCall, isMerge: Bool) throws {
    DatabaseFaults.install()
    var failures = 0
    var owed = 0
    for nth in 1...200 {
      let directory = try TemporaryDirectory(inMemory: true)
      let work = try TreeAtWork(directory.path)
      let other = try prepare(work)
      let before = try work.texts()
      let token = Faults.arm(
        Faults.Plan(
          calls: [call], below: directory.path, nth: nth,
          action: .fail(call == .sync ? Errno.inputOutput : Errno.noSpace)))
      var outcome: CutOutcome?
      do throws(StoreError) {
        outcome =
          try isMerge
          ? work.versioner.transition(CutRequest(.command)) {
            transaction, head throws(StoreError) in
            try transaction.mergeSides([head, other].compactMap(\.self), live: head).outcome
          } : work.versioner.transition(CutRequest(.command))
      } catch {
        failures += 1
      }
      let wasReached = Faults.disarm(token) >= nth
      let texts = try work.texts()
      if outcome == nil {
        #expect(texts == before, "\(call) \(nth)")
      } else if !isMerge || !(outcome?.isShown ?? true) {
        #expect(texts == before, "\(call) \(nth)")
      }
      if work.reports.withLock({ $0.contains { $0.contains("goes on showing") } }) { owed += 1 }
      // Later changes by programs are kept, and the next transition shows all.
      try? work.save("later", "later")
      try work.merge(other)
      try work.check("\(call) \(nth)")
      try work.save("later", "later")
      try work.cut()
      try work.check("\(call) \(nth)")
      let shown = try work.texts()
      #expect(shown["theirs"] == "theirs", "\(call) \(nth)")
      #expect(shown["c"] == "second c", "\(call) \(nth)")
      #expect(shown["moved/new"] == "new", "\(call) \(nth)")
      #expect(shown["later"] == "later", "\(call) \(nth)")
      #expect(try work.recordedTexts() == shown, "\(call) \(nth)")
      if !wasReached { break }
    }
    #expect(failures > 0)
    // Rows that could not be written after the store's commit.
    #expect(call == .sync || owed > 0)
  }
}
