import Inodes
import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing
import TreeModel
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Kills and power failures at every call that a transition makes of the system.
@Suite(.timeLimit(.minutes(10)))
struct TransitionPowerTests {
  /// The end of a transition.
  enum End: CaseIterable {
    /// The process is killed: all that was written is there.
    case kill
    /// The power fails: only what was synced is there.
    case power
    /// The power fails: some of the rest is there.
    case mixed
  }

  /// The work of a transition.
  enum Step: CaseIterable {
    case cut, merge, goBack
  }

  /// Makes a tree with something of every kind pending, and the version that is merged.
  private func prepare(_ work: TreeAtWork) throws -> (other: VersionNumber, first: VersionNumber) {
    try work.makeDirectory("d")
    for name in ["d/a", "d/b", "c", "e"] { try work.save(name, "first \(name)") }
    let first = try #require(try work.cut().head?.number)
    let other = try work.others(
      ["theirs": "theirs", "d/b": "theirs too", "e": nil, "sub/x": "x"], on: first)
    try work.save("c", "second c")
    try work.rename("d", "moved")
    try work.save("moved/new", "new")
    try work.unlink("moved/a")
    try work.save("e", "second e")
    try work.tree.sync()
    return (other, first)
  }

  @Test(
    "Whenever it ends, the next mount shows the tree before or after, and loses nothing",
    arguments: Step.allCases, End.allCases)
  func ends(step: Step, end: End) throws {
    DatabaseFaults.install()
    let directory = try TemporaryDirectory(inMemory: true)
    let images = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path)
    let (other, first) = try prepare(work)
    let (before, statusesBefore) = (try work.texts(), try work.statuses())
    let calls = Monitor(0)
    let disk = try PowerDisk(directory.path) { disk, call, _ in
      guard [.write, .sync, .truncate, .rename].contains(call) else { return }
      let count = calls.withLock { count in
        count += 1
        return count
      }
      let rest: PowerDisk.Rest =
        switch end {
        case .kill: .everything
        case .power: .nothing
        case .mixed: .some(seed: UInt64(count))
        }
      try? disk.image(at: images.file("\(count)"), rest)
    }
    switch step {
    case .cut: try work.cut()
    case .merge: try work.merge(other)
    case .goBack: try work.go(to: first)
    }
    disk.stop()
    let after = try work.texts()
    #expect((before == after) == (step == .cut))
    let count = calls.withLock { $0 }
    #expect(count > 10)
    var isAfter = 0
    for index in 1...count {
      let again = try TreeAtWork(images.file("\(index)"), boot: end == .kill ? "boot" : "other")
      let texts = try again.texts()
      #expect(texts == before || texts == after, "call \(index) of \(count): \(texts)")
      if texts == after { isAfter += 1 }
      let statuses = try again.statuses()
      for (path, status) in statuses where texts == before {
        let before = statusesBefore[path]
        #expect(
          end == .kill ? status == before : status.lasting == before?.lasting,
          "\(path) after call \(index) of \(count)")
      }
      #expect(again.opened.losses == [], "call \(index) of \(count)")
      try again.check("call \(index) of \(count)")
      // Most images are alike, and a cut takes the longest.
      guard index % 3 == 0 else { continue }
      try again.cut()
      try again.check("cut after call \(index) of \(count)")
      #expect(try again.texts() == texts, "cut after call \(index) of \(count)")
      for (path, status) in try again.statuses() {
        #expect(status == statuses[path], "\(path) at the cut after call \(index) of \(count)")
      }
      #expect(try again.recordedTexts() == texts, "cut after call \(index) of \(count)")
    }
    #expect(isAfter > 0)
  }

  @Test(
    "If the disk has the journal of cuts and not their rows, the journal's numbers count",
    arguments: [1, 2, 3])
  func rowsAreBehind(cuts: Int) throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path)
    _ = try prepare(work)
    let copies = try TemporaryDirectory(inMemory: true)
    try copyTree(directory.path, to: copies.file("before"))
    try work.cut()
    for round in 1..<cuts {
      try work.makeDirectory("again \(round)")
      try work.rename("moved/new", "again \(round)/new")
      try work.rename("again \(round)", "moved/again \(round)")
      try work.rename("moved/again \(round)/new", "moved/new")
      try work.save("c", "round \(round)")
      try work.cut()
    }
    let statuses = try work.statuses()
    try work.tree.sync()
    try copyTree(directory.path, to: copies.file("after"), leavingOut: "tree.sqlite")
    for name in try FileSystem.list(copies.file("before")) where name.hasPrefix("tree.sqlite") {
      try FileSystem.rename(copies.file("before/\(name)"), to: copies.file("after/\(name)"))
    }
    let again = try TreeAtWork(copies.file("after"), boot: "other")
    #expect(again.opened.losses == [])
    for (path, status) in try again.statuses() {
      #expect(status.lasting == statuses[path]?.lasting, "\(path)")
    }
    try again.check("with older rows")
  }

  @Test("A commit that finds nothing to take brings earlier changes to the disk")
  func nothingToTake() throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let images = try TemporaryDirectory(inMemory: true)
    let work = try TreeAtWork(directory.path)
    try work.save("kept", "kept")
    try work.cut()
    try work.save("gone", "gone")
    try work.tree.sync()
    let syncs = Monitor(0)
    let disk = try PowerDisk(directory.path) { _, call, phase in
      if call == .sync, phase == .before { syncs.withLock { $0 += 1 } }
    }
    try work.unlink("gone")
    #expect(try work.cut().cut == nil)
    let needed = syncs.withLock { $0 }
    #expect(try work.cut().cut == nil)
    #expect(syncs.withLock { $0 } == needed, "nothing changed since the last sync")
    try disk.image(at: images.file("cut"), .nothing)
    disk.stop()
    #expect(try TreeAtWork(images.file("cut"), boot: "other").texts() == ["kept": "kept"])
  }
}

extension InodeStatus {
  /// This without the times that only the rows have, which a power failure may take back.
  fileprivate var lasting: InodeStatus {
    var status = self
    status.ctime = .zero
    if kind == .directory { (status.mtime, status.atime) = (.zero, .zero) }
    return status
  }
}
