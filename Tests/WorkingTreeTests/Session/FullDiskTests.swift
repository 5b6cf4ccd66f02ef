import Inodes
import LLVSCore
import Platform
import SQLite
import TestSupport
import Testing
import TreeNames

@testable import TreeSupport
@testable import WorkingTree

/// Transitions on a disk that is full, and renewals of the journal beside them.
@Suite(.timeLimit(.minutes(2)))
struct FullDiskTests {
  private let directory: TemporaryDirectory
  private let work: TreeAtWork

  init() throws {
    DatabaseFaults.install()
    directory = try TemporaryDirectory(inMemory: true)
    work = try TreeAtWork(directory.path, longCut: 0, isHeld: true)
  }

  private func fill(_ path: String, times: Int = .max) -> Faults.Token {
    Faults.arm(
      Faults.Plan(
        calls: [.write, .allocate], below: directory.file(path), times: times,
        action: .fail(Errno.noSpace)))
  }

  @Test(
    "While the rows of a head cannot be written nobody waits for a new journal, and none is begun")
  func owed() throws {
    try work.save("a", "one")
    try work.versioner.transition(CutRequest(.command))
    let token = fill("tree.sqlite")
    work.writeRows()
    #expect(work.reports.withLock { $0.contains { $0.contains("goes on showing") } })
    #expect(!work.opened.journal.needsRenewal(atRest: true))
    #expect(throws: FSError.self) { try work.tree.renewJournal(isForced: true) }
    work.tree.makeRoom()
    try work.save("b", "two")
    #expect(throws: StoreError.self) { try work.cut() }
    #expect(try work.texts() == ["a": "one", "b": "two"])
    Faults.disarm(token)
    try work.cut()
    #expect(try work.recordedTexts() == ["a": "one", "b": "two"])
    try work.check()
    #expect(try work.tree.renewJournal(isForced: true) == [])
  }

  @Test(
    "A cut that finds the disk full is made again once the room that is put aside was given back")
  func again() throws {
    try work.save("a", "one")
    let reserve = directory.file("journal/reserve")
    #expect(try FileSystem.exists(reserve))
    let token = fill("store", times: 1)
    let outcome = try work.cut()
    #expect(Faults.disarm(token) > 1)
    #expect(outcome.isNew)
    #expect(try !FileSystem.exists(reserve))
    #expect(try work.recordedTexts() == ["a": "one"])
    try work.check()
  }

  @Test("A cut on a disk that stays full fails, and everything stays pending")
  func full() throws {
    try work.save("a", "one")
    let token = fill("store")
    #expect(throws: StoreError.self) { try work.cut() }
    Faults.disarm(token)
    #expect(try work.recordedTexts() == [:])
    try work.cut()
    #expect(try work.recordedTexts() == ["a": "one"])
    try work.check()
  }

  @Test("A new journal removes the files of the one before that nothing needs, without a cut")
  func collected() throws {
    for round in 1...4 {
      try work.save("gone", String(repeating: "x", count: 100_000))
      try work.unlink("gone")
      #expect(try work.tree.renewJournal() == [])
      let files = try FileSystem.list(directory.file("journal"))
      #expect(files.count { $0.hasSuffix(".journal") } == 1, "after renewal \(round)")
    }
  }

  @Test("Inode numbers outlast a power failure after a new journal that does not know them")
  func numbers() throws {
    let disk = try PowerDisk(directory.path) { _, _, _ in }
    try work.makeDirectory("d")
    try work.save("d/a", "one")
    try work.cut()
    #expect(try work.tree.renewJournal(isForced: true) == [])
    let images = try TemporaryDirectory(inMemory: true)
    try disk.image(at: images.file("image"), .nothing)
    disk.stop()
    let again = try TreeAtWork(images.file("image"), boot: "other")
    #expect(again.opened.losses == [])
    #expect(try again.shown() == work.shown())
    try again.check()
  }
}
