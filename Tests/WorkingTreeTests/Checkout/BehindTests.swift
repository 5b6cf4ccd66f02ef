import LLVSCore
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Programs that heads leave behind (docs/writes.md, rules 7 and 8).
@Suite(.timeLimit(.minutes(2)))
struct BehindTests {
  let behind: BehindWork
  var work: TreeAtWork { behind.work }
  let base = BehindWork.base
  let q = BehindWork.q

  init() throws { behind = try BehindWork() }

  func text(_ changes: [Int: String]) -> String { BehindWork.text(changes) }

  /// The moments of a cut.
  enum Moment: CaseIterable { case before, window, late, after }

  /// Cuts, and does something at a moment of it.
  func cut(_ moment: Moment, _ body: @escaping () throws -> Void) throws {
    if moment == .before { try body() }
    try behind.transition(
      window: { if moment == .window { try body() } }, late: { if moment == .late { try body() } })
    if moment == .after { try body() }
  }

  @Test(
    "After a merge of other files, a file that is saved and removed is gone, whenever that is",
    arguments: Moment.allCases, BehindWork.Way.allCases)
  func mergedOthers(moment: Moment, way: BehindWork.Way) throws {
    try behind.read("f")
    try behind.mergeOther()
    let start = try behind.head
    try behind.save("f", text([1: "one P"]), way)
    try cut(moment) {
      try behind.save("f", text([1: "one P again"]), way)
      try work.unlink("f")
    }
    let texts = try behind.settled()
    #expect(texts == ["g": base, "h": base, "other": "others"])
    try behind.expectOneLine(since: start)
  }

  @Test(
    "A save during the cut that takes a program's first goes on from the first",
    arguments: Moment.allCases, BehindWork.Way.allCases)
  func savesAgain(moment: Moment, way: BehindWork.Way) throws {
    let start = try behind.head
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try behind.save("f", text([1: "one P"]), way)
    try cut(moment) { try behind.save("f", text([1: "one P and P"]), way) }
    #expect(try behind.settled()["f"] == text([1: "one P and P", 4: "four F"]))
    try behind.expectNoConflict()
    if moment != .before {
      #expect(try behind.predecessor(of: text([1: "one P"]), since: start) == start)
    }
  }

  @Test(
    "A program that is behind and empties a file which another saves meanwhile keeps its own base",
    arguments: [Moment.window, .late])
  func emptiesWhatIsTaken(moment: Moment) throws {
    let start = try behind.head
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try behind.read("f", by: q)
    try behind.save("f", text([3: "three Q", 4: "four F"]), by: q)
    try cut(moment) { try behind.save("f", text([1: "one P"])) }
    #expect(
      try behind.settled()["f"] == text([1: "one P", 3: "three Q", 4: "four F"]))
    #expect(try behind.predecessor(of: text([1: "one P"]), since: start) == start)
    try behind.expectNoConflict()
  }

  @Test("A program is on what it saw, whoever saved since the head that left it behind")
  func savedByOthersSince() throws {
    let start = try behind.head
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try behind.read("f", by: q)
    try behind.save("f", text([3: "three Q", 4: "four F"]), by: q)
    try behind.transition()
    try behind.save("f", text([1: "one P"]))
    #expect(
      try behind.settled()["f"] == text([1: "one P", 3: "three Q", 4: "four F"]))
    #expect(try behind.predecessor(of: text([1: "one P"]), since: start) == start)
    try behind.expectNoConflict()
  }

  @Test("A program is on what the name showed last before the head, with what others had saved")
  func savedByOthersBefore() throws {
    let start = try behind.head
    try behind.read("f")
    try behind.save("f", text([3: "three Q"]), by: q)
    try behind.transition(["f": text([4: "four F"])], since: start)
    #expect(try work.texts()["f"] == text([3: "three Q", 4: "four F"]))
    try behind.save("f", text([1: "one P"]))
    #expect(try behind.settled()["f"] == text([1: "one P", 4: "four F"]))
    let saved = try #require(
      try behind.versions(since: start).first {
        try behind.text("f", in: $0) == text([3: "three Q"])
      })
    #expect(try behind.predecessor(of: text([1: "one P"]), since: start) == saved.number)
    try behind.expectNoConflict()
  }

  @Test(
    "Later heads do not move a program that is behind, and a later reader is on a later version")
  func severalHeads() throws {
    try behind.read("f")
    try behind.mergeOther()
    try behind.save("g", "own")
    try behind.transition()
    let before = try behind.head
    try behind.transition(["f": text([4: "four F"])])
    let between = try behind.head
    try behind.read("f", by: q)
    try behind.mergeOther("more")
    try behind.transition(["f": text([3: "three F", 4: "four F"])])
    try behind.save("f", text([1: "one P"]))
    #expect(try behind.settled()["f"] == text([1: "one P", 3: "three F", 4: "four F"]))
    #expect(try behind.predecessor(of: text([1: "one P"]), since: before) == before)
    let theirs = text([2: "two Q", 4: "four F"])
    try behind.save("f", theirs, by: q)
    #expect(
      try behind.settled()["f"] == text([1: "one P", 2: "two Q", 3: "three F", 4: "four F"]))
    let found = try #require(try behind.predecessor(of: theirs, since: before))
    let version = try #require(try behind.store.version(found))
    // That version, or the last before the second head.
    #expect(try behind.text("f", in: version) == text([4: "four F"]))
    #expect(found >= between)
    try behind.expectNoConflict()
  }

  @Test(
    "A program that saved again what it saw is behind the head's bytes that its name shows then",
    arguments: BehindWork.Way.allCases, [false, true])
  func savesTheSame(way: BehindWork.Way, isMerged: Bool) throws {
    try behind.read("f")
    let start = try behind.head
    try behind.transition(["f": text([4: "four F"])])
    try behind.save("f", base, way)
    // No version takes it: the one that it was made on has it already.
    try behind.transition(isMerged ? ["other": "others"] : nil)
    #expect(try work.texts()["f"] == text([4: "four F"]))
    try behind.save("f", text([1: "one P"]), way)
    #expect(try behind.settled()["f"] == text([1: "one P", 4: "four F"]))
    #expect(try behind.predecessor(of: text([1: "one P"]), since: start) == start)
    try behind.expectNoConflict()
  }

  @Test("A head that brings back what a program saw makes it up to date")
  func broughtBack() throws {
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try behind.transition(["f": base])
    let start = try behind.head
    try behind.save("f", text([3: "three Q"]), by: q)
    try behind.transition()
    try behind.save("f", text([1: "one P"]))
    #expect(try behind.settled()["f"] == text([1: "one P"]))
    try behind.expectOneLine(since: start)
  }

  @Test("An undo, a restore and a switch forward leave readers behind and detach open files")
  func otherHeads() throws {
    for isOpen in [false, true] {
      for isSwitch in [false, true] {
        let behind = try BehindWork()
        let start = try behind.head
        try behind.save("f", text([4: "four here"]))
        try behind.transition()
        var seen = try behind.head
        if isSwitch {
          try behind.work.go(to: start)
          seen = start
        }
        let opened = isOpen ? try behind.work.open("f") : nil
        if opened == nil { try behind.read("f") }
        if isSwitch {
          try behind.work.go(to: VersionNumber(start.rawValue + 1))
        } else {
          try behind.restore("f", base)
        }
        let mine = text([1: "one P", 4: isSwitch ? "four" : "four here"])
        if let (number, handle) = opened {
          try behind.work.tree.resize(number, to: 0, through: handle)
          try behind.work.write(mine, through: handle)
          try behind.work.close(handle)
        } else {
          try behind.save("f", mine)
        }
        let texts = try behind.settled()
        #expect(texts["f"] == text([1: "one P", 4: isSwitch ? "four here" : "four"]))
        #expect(try behind.predecessor(of: mine, since: start) == seen)
        try behind.expectNoConflict()
      }
    }
  }

  @Test("After a switch that leaves the history what a program saves is on the head")
  func leavesHistory() throws {
    let start = try behind.head
    try behind.save("f", text([4: "four here"]))
    try behind.transition()
    try behind.read("f")
    try work.go(to: start)
    let mine = text([1: "one P"])
    try behind.save("f", mine)
    #expect(try behind.settled()["f"] == mine)
    #expect(try behind.predecessor(of: mine, since: VersionNumber(start.rawValue + 1)) == start)
    #expect(try work.store.version(behind.head)?.second == nil)
  }
}
