import Inodes
import LLVSCore
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// What programs remove and make again while one of them is behind.
extension BehindTests {
  /// The ways in which a name goes away.
  enum Leaving: CaseIterable { case unlink, rename }

  private func leave(_ path: String, _ leaving: Leaving) throws {
    switch leaving {
    case .unlink: try work.unlink(path)
    case .rename: try work.rename(path, "\(path).away")
    }
  }

  @Test(
    "What the head shows stays removed if a program that is behind makes the file, and it is removed again",
    arguments: Leaving.allCases, [Moment.before, .after])
  func removedTwice(leaving: Leaving, moment: Moment) throws {
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try leave("f", leaving)
    try behind.create("f", text([1: "one P"]))
    try cut(moment) { try leave("f", leaving) }
    #expect(try behind.settled()["f"] == nil)
    try behind.expectNoConflict()
  }

  @Test(
    "What a program that is behind makes at a name that a head brought back is removed with it"
  )
  func restoredAndRemoved() throws {
    try behind.read("f")
    try work.unlink("f")
    try behind.transition()
    try behind.restore("f", base)
    try work.unlink("f")
    try behind.create("f", text([1: "one P"]))
    try work.unlink("f")
    #expect(try behind.settled()["f"] == nil)
    try behind.expectNoConflict()
  }

  @Test(
    "A later head that changes a removed name is merged, though it was made and removed since"
  )
  func headSinceTheRemoval() throws {
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try work.unlink("f")
    try behind.create("f", text([1: "one P"]))
    try behind.transition(
      ["f": text([3: "three F", 4: "four F"])], window: { try self.work.unlink("f") })
    #expect(try behind.settled()["f"]?.contains("three F") ?? false)
  }

  @Test("A journal of a killed program has what was removed below a file")
  func removalIsReplayed() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    try behind.read("f")
    try behind.transition(["f": text([4: "four F"])])
    try work.unlink("f")
    try behind.create("f", text([1: "one P"]))
    for isRenewed in [false, true] {
      if isRenewed { _ = try work.tree.renewJournal(isForced: true) }
      let copy = directory.file("copy \(isRenewed)")
      try copyTree(behind.path, to: copy)
      let again = try BehindWork(opening: copy)
      #expect(again.work.tree.pending == work.tree.pending)
      try again.work.unlink("f")
      #expect(try again.settled()["f"] == nil)
    }
  }

  // MARK: - Databases

  /// Makes a database with a log, which a process reads and another machine changes afterwards.
  private func changedDatabase() throws {
    for name in ["x.db", "x.db-wal"] { try work.save(name, "\(name) first") }
    try behind.transition()
    for name in ["x.db", "x.db-wal"] { try behind.read(name) }
    try behind.transition(["x.db": "x.db theirs", "x.db-wal": "x.db-wal theirs"])
  }

  @Test("A program that opened a database after a head is up to date at its log")
  func opensDatabase() throws {
    try changedDatabase()
    let start = try behind.head
    try work.unlink("x.db-wal")
    try behind.read("x.db")
    try behind.create("x.db-wal", "x.db-wal own")
    try behind.save("x.db", "x.db own", .inPlace)
    let texts = try behind.settled()
    #expect(texts["x.db"] == "x.db own")
    #expect(texts["x.db-wal"] == "x.db-wal own")
    try behind.expectOneLine(since: start)
  }

  @Test(
    "A database that a head took from its program, and the journals that the program makes, are on one version",
    arguments: [["x.db"], ["x.db", "x.db-journal"]])
  func goesOnWithDatabase(changed: [String]) throws {
    try work.save("x.db", "x.db first")
    try behind.transition()
    let start = try behind.head
    try behind.read("x.db")
    let (_, handle) = try work.open("x.db")
    try behind.transition(
      Dictionary(uniqueKeysWithValues: changed.map { ($0, .some("\($0) theirs")) }))
    let head = try behind.head
    if changed.count > 1 { try work.unlink("x.db-journal") }
    for round in ["one", "two"] {
      try behind.create("x.db-journal", "x.db-journal \(round)")
      try work.write("x.db \(round)", through: handle)
      try work.tree.flush(handle)
      if round == "one" { try work.unlink("x.db-journal") }
    }
    try behind.transition()
    let side = try #require(
      try behind.versions(since: head).first { try behind.text("x.db", in: $0) == "x.db twost" })
    #expect(side.first == start)
    #expect(try behind.text("x.db-journal", in: side) == "x.db-journal two")
    for version in try behind.versions(since: head)
    where try behind.text("x.db-journal", in: version) == "x.db-journal two" {
      #expect(try behind.text("x.db", in: version) == "x.db twost")
    }
    try work.close(handle)
    try behind.settled()
  }
}
