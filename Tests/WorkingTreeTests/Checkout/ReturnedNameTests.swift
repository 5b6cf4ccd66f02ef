import LLVSCore
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Names that programs remove in a directory that is moved to a name that a head fills.
@Suite(.timeLimit(.minutes(2)))
struct ReturnedNameTests {
  @Test(
    "What a program removes from a directory moved over a head's stays removed",
    arguments: [1, 2], [false, true])
  func removedDuringCuts(cuts: Int, isLate: Bool) throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path, longCut: 0, isHeld: true)
    for path in ["name", "name/sub", "old", "to"] { try work.makeDirectory(path) }
    try work.save("name/sub/s", "s")
    let files = (0..<24).map { "f\($0)" }
    for file in files { try work.save("old/\(file)", file) }
    try work.cut()
    let other = try work.others(["name/sub/new": "new", "many": "many"])
    var left = files
    func remove() throws {
      for _ in 0..<3 {
        let file = left.removeFirst()
        if left.count % 3 == 0 {
          try work.unlink("name/\(file)")
        } else {
          try work.rename("name/\(file)", "to/\(file)")
        }
      }
    }
    func transition(
      to other: VersionNumber? = nil, window: @escaping () throws -> Void
    ) throws {
      var failure: (any Error)?
      _ = try work.versioner.transition(CutRequest(.command, headReason: .merge)) {
        transaction, head throws(StoreError) in
        do { try window() } catch { failure = error }
        guard let other, let head else { return head }
        return try transaction.mergeSides([head, other], live: head).outcome
      }
      if let failure { throw failure }
      if isLate { try window() }
      try work.check()
    }
    try work.rename("name", "other")
    try transition(to: other) {
      if (try? work.number("old")) != nil { try work.rename("old", "name") }
    }
    for _ in 0..<cuts {
      try remove()
      try transition { try remove() }
    }
    for _ in 0..<3 {
      try work.cut()
      try work.check()
    }
    let shown = Set(try work.texts().keys)
    for file in files {
      #expect(shown.contains("name/\(file)") == left.contains(file), "name/\(file)")
    }
    #expect(try work.recordedTexts() == work.texts())
    #expect(shown.contains("name/sub/new"))
  }
}
