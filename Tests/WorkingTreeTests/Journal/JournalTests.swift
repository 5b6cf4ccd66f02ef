import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing
import TreeModel

@testable import TreeSupport
@testable import WorkingTree

@Suite(.timeLimit(.minutes(5)))
struct JournalTests {
  private let directory = Result { try TemporaryDirectory(inMemory: true) }

  private func path() throws -> String { try directory.get().file("journal") }

  @Test("A killed process loses nothing that was appended")
  func killed() throws {
    let large = [UInt8].random(seed: 1, 100_000)
    do {
      let keeper = try JournalKeeper(path())
      try keeper.save("a", "first")
      try keeper.save("large", large)
      try keeper.save("a", "second")
      try keeper.unlink("none")
    }
    let keeper = try JournalKeeper(path())
    #expect(keeper.recovery.losses == [] && keeper.recovery.isSameBoot)
    #expect(try keeper.text("a") == "second")
    #expect(try keeper.bytes("large") == large)
    try keeper.unlink("large")
    let again = try JournalKeeper(path())
    #expect(try again.bytes("large") == nil)
    #expect(try again.text("a") == "second")
  }

  @Test(
    "Whatever programs do among cuts and renewals, a mount finds the overlay that was in memory",
    arguments: 0..<20 as Range<UInt64>)
  func lives(seed: UInt64) throws {
    let path = try path()
    try FileSystem.makeDirectory(path)
    // A life says that its bytes are in data files with the numbers of its marks.
    for mark in 1...400 as ClosedRange<UInt32> {
      try File("\(path)/\(DataFiles.stageName(mark))", [.readWrite, .create]).write(
        [UInt8](repeating: 1, count: Int(Mark.length)), at: 0)
    }
    let header = JournalFileHeader(
      bootID: Array("boot".utf8), storeID: JournalKeeper.store, cut: 0, lastNumber: 400, seed: 1)
    try File("\(path)/\(JournalFile.name(500))", [.readWrite, .create])
      .write(header.encoded, at: 0)
    let keeper = try JournalKeeper(path)
    var life = Life<ModelTree>(seed: seed)
    var cut: UInt64 = 0
    for _ in 0..<60 {
      let appended = life.journal.count
      if life.random.chance(0.2) {
        cut += 1
        try keeper.journal.mark(cut)
        keeper.state.withLock { _ = $0.overlay.beginCut() }
        try life.transition()
        try keeper.journal.take(
          TakingRecord(cut: cut, epoch: nil, groups: [], taken: TakenCut(at: .start)))
        let edits = OverlayEdits(from: keeper.overlay, to: life.overlay)
        keeper.journal.settle(cut, isCommitted: true, epochs: [life.overlay.epoch: 7], edits)
        keeper.state.withLock { s in
          s.overlay.apply(edits)
          s.epochs[life.overlay.epoch] = 7
        }
      } else {
        try life.act()
        let changes = Array(life.journal[appended...])
        try keeper.journal.append(changes, mayUseReserve: true)
        keeper.state.withLock { s in for change in changes { s.overlay.apply(change) } }
      }
      if life.random.chance(0.1) { try keeper.renew() }
      // Comparing alone: what differs is too long to print.
      let isSame = keeper.overlay == life.overlay
      #expect(isSame)
      let found = try JournalKeeper(path, lastCut: cut, isRenewed: false)
      let isFound = found.overlay == life.overlay
      #expect(isFound, "seed \(seed): \(life.log.last ?? "")")
      #expect(found.recovery.losses == [])
      #expect(found.unsettled == nil)
      #expect(found.state.withLock { $0.epochs } == keeper.state.withLock { $0.epochs })
      guard isSame, isFound else { return }
    }
  }

  @Test("A record that is refused leaves everything as it was (J1)", arguments: [0, 1, 30, 200])
  func refused(written: Int) throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    let end = keeper.journal.state.withLock { $0.file.end }
    // The first write falls short, so that a part of the record is there; the second fails.
    let short =
      written == 0
      ? nil
      : Faults.arm(
        Faults.Plan(calls: [.write], below: path, times: 1, action: .short(written)))
    let failing = Faults.arm(
      Faults.Plan(
        calls: [.write], below: path, nth: written == 0 ? 1 : 2, times: 1,
        action: .fail(Errno.inputOutput)))
    #expect(throws: StoreError.self) { try keeper.create(String(repeating: "b", count: 200)) }
    Faults.disarm(failing)
    if let short { Faults.disarm(short) }
    #expect(keeper.journal.state.withLock { $0.file.end } == end)
    #expect(try FileSystem.status(try JournalKeeper.newest(path)).size == end)
    try keeper.save("c", "c")
    let again = try JournalKeeper(path)
    #expect(again.recovery.losses == [])
    let isSame = again.overlay == keeper.overlay
    #expect(isSame)
  }

  @Test("Where a refused record cannot be taken back, nothing is recorded before a renewal")
  func notTakenBack() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    let plans = [
      Faults.Plan(calls: [.write], below: path, times: 1, action: .short(30)),
      Faults.Plan(calls: [.write], below: path, nth: 2, times: 1, action: .fail(Errno.inputOutput)),
      Faults.Plan(calls: [.truncate], below: path, times: 1, action: .fail(Errno.inputOutput)),
    ].map(Faults.arm)
    #expect(throws: StoreError.self) { try keeper.create(String(repeating: "b", count: 200)) }
    plans.forEach { Faults.disarm($0) }
    #expect(throws: StoreError.self) { try keeper.save("c", "c") }
    #expect(keeper.journal.needsRenewal(atRest: false))
    try keeper.renew()
    try keeper.save("c", "c")
    let again = try JournalKeeper(path)
    #expect(try again.text("a") == "a" && again.text("c") == "c")
  }

  @Test("Several changes of one call are there together or not at all")
  func together() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    let number = try keeper.create("a")
    let start = keeper.journal.state.withLock { $0.file.end }
    try keeper.append(
      .resize(number, to: 7, [], seen: nil), .attributes(number, Attributes()), .save(number))
    let end = keeper.journal.state.withLock { $0.file.end }
    let bytes = try FileSystem.read(try JournalKeeper.newest(path), atMost: 1 << 20)
    for cut in start...end {
      let copy = try directory.get().file("copy-\(cut)")
      try JournalKeeper.copy(path, to: copy)
      try File(try JournalKeeper.newest(copy), [.readWrite, .truncate])
        .write(Array(bytes[..<Int(cut)]), at: 0)
      let found = try JournalKeeper(copy, isRenewed: false)
      let file = try #require(found.overlay.nodes[number]?.file)
      #expect(file.content.size == (cut == end ? 7 : 0) && (file.saved != nil) == (cut == end))
    }
  }

  @Test("A journal that was opened takes nothing before it is begun anew")
  func notRenewed() throws {
    let keeper = try JournalKeeper(path(), isRenewed: false)
    #expect(keeper.journal.needsRenewal(atRest: false))
    #expect(throws: StoreError.self) { try keeper.create("a") }
    #expect(throws: StoreError.self) {
      try JournalKeeper.stage([1], at: 0, in: keeper.journal)
    }
    try keeper.renew()
    try keeper.save("a", "a")
    #expect(!keeper.journal.needsRenewal(atRest: false))
  }
}

extension [UInt8] {
  static func random(seed: UInt64, _ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }
}
