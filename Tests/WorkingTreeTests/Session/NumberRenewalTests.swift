import Inodes
import LLVSCore
import Platform
import SQLite
import SQLiteSums
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// Stores of which most inode numbers are used up, and the mount that gives small ones to all inodes.
@Suite(.timeLimit(.minutes(5)))
struct NumberRenewalTests {
  private let directory: TemporaryDirectory
  private let images: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    images = try TemporaryDirectory(inMemory: true)
  }

  /// Opens a tree of which all inodes have numbers from `first` on: a version, and pending changes of every kind.
  private func work(from first: InodeNumber = .renewal) throws -> TreeAtWork {
    let work = try TreeAtWork(directory.path)
    try work.store.restartInodes(at: first.rawValue)
    try work.makeDirectory("d")
    try work.makeDirectory("d/e")
    for name in ["d/a", "d/b", "c", "gone", "d/e/deep"] { try work.save(name, "first \(name)") }
    try work.link("c", "d/c2")
    try work.cut()
    try work.save("c", "second c")
    try work.rename("d", "moved")
    try work.makeDirectory("moved/sub")
    for name in ["moved/new", "moved/sub/x"] { try work.save(name, name) }
    try work.unlink("moved/a")
    try work.unlink("gone")
    try work.tree.sync()
    #expect(try work.shown().values.allSatisfy { $0.number >= first })
    return work
  }

  /// Expects that a tree was opened with what is shown, under small numbers, and that it goes on.
  private func expectSmall(
    _ again: TreeAtWork, _ texts: [String: String?], isRenewed: Bool? = true, cuts: Bool = true,
    _ note: String = ""
  ) throws {
    try again.check(note)
    let shown = try again.shown()
    #expect(shown.mapValues(\.text) == texts, "\(note)")
    #expect(shown.values.allSatisfy { $0.number.rawValue < 100_000 }, "\(note)")
    #expect(shown["c"]?.number == shown["moved/c2"]?.number, "\(note)")
    #expect(Set(shown.values.map(\.number)).count == shown.count - 1, "\(note)")
    let losses = again.opened.losses
    #expect(losses.allSatisfy { $0.contains("inode numbers of the store were used up") }, "\(note)")
    if let isRenewed { #expect(!losses.isEmpty == isRenewed, "\(note)") }
    guard cuts else { return }
    try again.save("another", "another")
    let number = try again.number("another")
    #expect(number < .renewal && !shown.values.map(\.number).contains(number), "\(note)")
    try again.unlink("another")
    try again.cut()
    try again.check(note)
    #expect(try again.texts() == texts && again.recordedTexts() == texts, "\(note)")
  }

  /// Calls a closure that writes, and returns images of what a kill or a power failure leaves at each call.
  private func imagesOfEnds(
    in path: String, _ rest: @escaping @Sendable (Int) -> PowerDisk.Rest, _ body: () throws -> Void
  ) throws -> [String] {
    DatabaseFaults.install()
    let (images, calls) = (images, Monitor(0))
    let disk = try PowerDisk(path) { disk, call, _ in
      guard [.write, .sync, .truncate, .rename, .unlink].contains(call) else { return }
      let count = calls.withLock { count in
        count += 1
        return count
      }
      try? disk.image(at: images.file("\(count)"), rest(count))
    }
    try body()
    disk.stop()
    return (1...max(1, calls.withLock { $0 })).map { images.file("\($0)") }
  }

  @Test(
    "All inodes get small numbers, whenever in a cut the process or the power ended",
    arguments: [false, true])
  func cut(losesPower: Bool) throws {
    let work = try work()
    let texts = try work.texts()
    let ends = try imagesOfEnds(in: directory.path, { _ in losesPower ? .nothing : .everything }) {
      try work.cut()
    }
    #expect(ends.count > 10)
    for (index, end) in ends.enumerated() {
      let again = try TreeAtWork(end, boot: losesPower ? "other" : "boot")
      try expectSmall(again, texts, cuts: index % 3 == 0, "call \(index) of \(ends.count)")
    }
  }

  @Test(
    "Whenever in the renewal the process or the power ends, the next mount has small numbers",
    arguments: [false, true])
  func renewal(losesPower: Bool) throws {
    let texts = try work().texts()
    let copy = images.file("copy")
    try copyTree(directory.path, to: copy)
    let ends = try imagesOfEnds(in: copy, { losesPower ? .some(seed: UInt64($0)) : .everything }) {
      try expectSmall(TreeAtWork(copy), texts, cuts: false)
    }
    #expect(ends.count > 10)
    for (index, end) in ends.enumerated() {
      let again = try TreeAtWork(end, boot: losesPower ? "other" : "boot")
      try expectSmall(
        again, texts, isRenewed: nil, cuts: index % 3 == 0, "call \(index) of \(ends.count)")
    }
  }

  @Test(
    "Numbers that no store may give out are replaced, in rows and journal",
    arguments: [1 << 39, 1 << 40, 1 << 62])
  func beyond(shift: UInt64) throws {
    let texts = try work(from: InodeNumber(1000)).texts()
    let copy = images.file("copy")
    try copyTree(directory.path, to: copy)
    try Self.shift(copy, by: shift)
    try expectSmall(TreeAtWork(copy), texts)
    try expectSmall(TreeAtWork(copy), texts, isRenewed: false)
  }

  /// Adds to all inode numbers of a store.
  private static func shift(_ path: String, by shift: UInt64) throws {
    let store = try Store.open(path: "\(path)/store")
    try store.restartInodes(at: shift + shift / 2)
    var opened = try Journal.open(
      "\(path)/journal", owner: JournalOwner(storeID: store.storeID, bootID: Array("boot".utf8)),
      lastCut: try StoreCut.last(in: store), report: { _ in })
    var old = opened.overlay.nodes.keys.sorted().filter { $0 != .root }[...]
    try opened.renumber { InodeNumber(old.removeFirst().rawValue + shift) }
    let image = JournalImage(
      overlay: opened.overlay, epochs: opened.epochs, instant: opened.journal.instant)
    _ = try opened.journal.renew(isForced: true, { image }, adopt: { _ in })
    let rows = try Database(
      path: "\(path)/tree.sqlite", mode: .readWrite, options: .withPageSums)
    for (table, column) in [
      ("inodes", "number"), ("inodes", "parent"), ("entries", "parent"), ("entries", "inode"),
      ("names", "inode"), ("names", "parent"), ("links", "inode"),
    ] {
      try rows.execute("UPDATE \(table) SET \(column) = \(column) + \(shift) WHERE \(column) > 1")
    }
  }

  @Test("A counter that is too great is set back, and all inodes keep their numbers")
  func counter() throws {
    let work = try work(from: InodeNumber(16))
    let shown = try work.shown()
    let copy = images.file("copy")
    try copyTree(directory.path, to: copy)
    do {
      let store = try Store.open(path: "\(copy)/store")
      try store.restartInodes(at: 4_089_278_627_840)
      #expect(throws: StoreError.self) { try store.allotInodes() }
    }
    let again = try TreeAtWork(copy)
    #expect(try again.shown() == shown)
    try expectSmall(again, shown.mapValues(\.text), isRenewed: false)
  }

  @Test("Mounts use up the same number of inode numbers, however many there were")
  func mounts() throws {
    var last = InodeNumber.root
    for mount in 0..<30 {
      let work = try TreeAtWork(directory.path)
      try work.save("f\(mount)", "\(mount)")
      let number = try work.number("f\(mount)")
      #expect(last < number && number.rawValue < last.rawValue + 100_000)
      last = number
      if mount % 2 == 0 { try work.cut() }
    }
  }
}
