import Inodes
import LLVSCore
import Platform
import TestSupport
import Testing

@testable import TreeSupport
@testable import WorkingTree

/// The steps of a cut (J2, J4).
@Suite(.timeLimit(.minutes(5)))
struct JournalCutTests {
  private let directory = Result { try TemporaryDirectory(inMemory: true) }

  private func path() throws -> String { try directory.get().file("journal") }

  /// A cut that takes all of a file, up to the given step.
  private func taken(_ keeper: JournalKeeper, _ cut: UInt64, _ name: String) throws -> TakingRecord
  {
    try keeper.journal.mark(cut)
    let stamp = keeper.state.withLock { state in
      defer { state.frozen = state.overlay }
      return state.overlay.beginCut()
    }
    let number = try #require(keeper.number(name))
    let node = try #require(keeper.overlay.nodes[number])
    var taken = TakenCut(at: stamp)
    taken.names[JournalKeeper.place(name)] = TakenCut.Name(.head, isThere: true)
    taken.nodes[number] = TakenCut.Node(
      .beside(Epoch(9)), save: node.file?.saved, on: node.on, attributes: node.attributes)
    return TakingRecord(
      cut: cut, epoch: Epoch(10),
      groups: [TakingRecord.Group(predecessor: 3, version: 4, epoch: Epoch(9))], taken: taken)
  }

  /// What following a head would leave: nothing of the file.
  private func edits(_ keeper: JournalKeeper, _ name: String) throws -> OverlayEdits {
    var after = keeper.overlay
    after.forget(try #require(keeper.number(name)))
    after.setChange(nil, at: JournalKeeper.place(name))
    after.epoch = Epoch(10)
    after.isCutting = false
    return OverlayEdits(from: keeper.overlay, to: after)
  }

  @Test("A journal that has grown is renewed once a cut has ended, or for want of room")
  func grown() throws {
    let keeper = try JournalKeeper(path())
    try keeper.save("a", "a")
    let number = try keeper.create("b")
    for _ in 0..<48 { try keeper.write(number, Array(repeating: 1, count: 30_000)) }
    #expect(!keeper.journal.needsRenewal(atRest: false))
    #expect(keeper.journal.needsRenewal(atRest: true))
    _ = try taken(keeper, 1, "a")
    Self.giveUp(keeper, 1, "a")
    #expect(keeper.journal.needsRenewal(atRest: false))
    try keeper.renew()
    #expect(!keeper.journal.needsRenewal(atRest: false))
  }

  @Test("A kill between the steps of a cut finds what was taken, if the store has the cut")
  func steps() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    try keeper.save("b", "b")
    let record = try taken(keeper, 1, "a")
    try keeper.save("c", "c")
    for lastCut in [0, 1] as [UInt64] {
      let found = try JournalKeeper(path, lastCut: lastCut, isRenewed: false)
      #expect(found.unsettled == nil)
      let isSame = found.overlay == keeper.overlay
      #expect(isSame && found.overlay.isCutting)
    }
    try keeper.journal.take(record)
    try keeper.save("d", "d")
    let before = try JournalKeeper(path, lastCut: 0, isRenewed: false)
    #expect(before.unsettled == nil && before.number("a") != nil)
    let between = try JournalKeeper(path, lastCut: 1, isRenewed: false)
    #expect(between.unsettled == record)
    let isSame = between.overlay == keeper.overlay
    #expect(isSame)
    let edits = try edits(keeper, "a")
    keeper.journal.settle(1, isCommitted: true, epochs: [Epoch(9): 4, Epoch(10): 5], edits)
    keeper.state.withLock { s in
      s.overlay.apply(edits)
      s.epochs = [Epoch(9): 4, Epoch(10): 5]
    }
    try keeper.save("e", "e")
    let after = try JournalKeeper(path, lastCut: 1, isRenewed: false)
    #expect(after.unsettled == nil && after.number("a") == nil)
    let isSettled = after.overlay == keeper.overlay
    #expect(isSettled)
    #expect(after.state.withLock { $0.epochs } == [Epoch(9): 4, Epoch(10): 5])
    // A store that is older than its journal.
    let older = try JournalKeeper(path, lastCut: 0, isRenewed: false)
    #expect(older.recovery.losses.count == 1)
    for name in ["a", "b", "c", "d", "e"] { #expect(try older.text(name) == name) }
  }

  @Test("A record of a cut is on the disk, with all before it, when it was taken (J2)")
  func durable() throws {
    let path = try path()
    try FileSystem.makeDirectory(path)
    let disk = try PowerDisk(path) { _, _, _ in }
    let keeper = try JournalKeeper(path)
    let large = [UInt8].random(seed: 1, 100_000)
    try keeper.save("a", large)
    let record = try taken(keeper, 1, "a")
    try keeper.journal.take(record)
    let image = try directory.get().file("image")
    try disk.image(at: image, .nothing)
    disk.stop()
    let found = try JournalKeeper(image, boot: "other", lastCut: 1, isRenewed: false)
    #expect(found.unsettled == record)
    #expect(try found.bytes("a") == large)
  }

  @Test("A cut of which the record does not come to the disk comes to nothing")
  func notTaken() throws {
    let path = try path()
    for call in [SystemCall.write, .sync] {
      let keeper = try JournalKeeper("\(path)-\(call)")
      try keeper.save("a", "a")
      let record = try taken(keeper, 1, "a")
      let token = Faults.arm(
        Faults.Plan(
          calls: [call], below: keeper.directory, times: 1, action: .fail(Errno.inputOutput)))
      #expect(throws: StoreError.self) { try keeper.journal.take(record) }
      Faults.disarm(token)
      var after = keeper.overlay
      after.isCutting = false
      let edits = OverlayEdits(from: keeper.overlay, to: after)
      keeper.journal.settle(1, isCommitted: false, epochs: [:], edits)
      keeper.state.withLock { $0.overlay.apply(edits) }
      if keeper.journal.needsRenewal(atRest: false) { try keeper.renew() }
      try keeper.save("b", "b")
      for lastCut in [0, 1] as [UInt64] {
        let found = try JournalKeeper(keeper.directory, lastCut: lastCut, isRenewed: false)
        let isSame = found.overlay == keeper.overlay
        #expect(isSame && found.unsettled == nil && found.recovery.losses == [])
      }
    }
  }

  @Test("A cut that was not marked cannot be taken")
  func notMarked() throws {
    let keeper = try JournalKeeper(path())
    let record = TakingRecord(cut: 2, epoch: nil, groups: [], taken: TakenCut(at: .start))
    #expect(try !keeper.journal.take(record))
    try keeper.journal.mark(1)
    #expect(try !keeper.journal.take(record))
  }

  @Test("A renewal waits for a cut that is being committed, and has what it came to (J4)")
  func renewedMeanwhile() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    try keeper.save("b", "b")
    let record = try taken(keeper, 1, "a")
    // A cut that is only marked goes on over a renewal.
    try keeper.renew()
    try keeper.journal.take(record)
    let between = try JournalKeeper(path, lastCut: 1, isRenewed: false)
    #expect(between.unsettled == record)
    let result = Monitor<Bool?>(nil)
    let thread = try SystemThread(name: "test-renewal") {
      let isDone =
        (try? keeper.journal.renew {
          let image = keeper.state.withLock {
            JournalImage(overlay: $0.overlay, epochs: $0.epochs, instant: keeper.journal.instant)
          }
          let isSettled = image.overlay.changes[JournalKeeper.place("a")] == nil
          result.withLock { $0 = isSettled }
          return image
        } adopt: { _ in
        }) != nil
      if !isDone { result.withLock { $0 = false } }
    }
    let edits = try edits(keeper, "a")
    keeper.state.withLock { s in
      keeper.journal.settle(1, isCommitted: true, epochs: [:], edits)
      s.overlay.apply(edits)
    }
    thread.join()
    #expect(result.withLock { $0 } == true)
    let found = try JournalKeeper(path, lastCut: 1)
    #expect(found.number("a") == nil)
    #expect(try found.text("b") == "b")
  }

  @Test("If the end of a cut cannot be written, nothing is recorded before a renewal that has it")
  func settledOnBadDisk() throws {
    let path = try path()
    let keeper = try JournalKeeper(path)
    try keeper.save("a", "a")
    let record = try taken(keeper, 1, "a")
    try keeper.journal.take(record)
    let edits = try edits(keeper, "a")
    let token = Faults.arm(
      Faults.Plan(calls: [.write], below: path, action: .fail(Errno.inputOutput)))
    keeper.journal.settle(1, isCommitted: true, epochs: [:], edits)
    keeper.state.withLock { $0.overlay.apply(edits) }
    Faults.disarm(token)
    #expect(throws: StoreError.self) { try keeper.create("b") }
    #expect(try JournalKeeper(path, lastCut: 1, isRenewed: false).unsettled == record)
    try keeper.renew()
    try keeper.save("b", "b")
    let found = try JournalKeeper(path, lastCut: 1)
    #expect(found.unsettled == nil && found.number("a") == nil)
    #expect(try found.text("b") == "b")
  }

  // MARK: - Renewals that move bytes

  /// A journal of which the next renewal copies bytes together.
  private func crowded(_ path: String) throws -> JournalKeeper {
    let keeper = try JournalKeeper(path)
    var index = 0
    while keeper.journal.files.count < 64 {
      try keeper.save("f\(index)", "text \(index)")
      try keeper.renew()
      index += 1
    }
    return keeper
  }

  /// Calls a body once, at the sync that a renewal makes of its new file, or of the directory.
  private func renew(
    _ keeper: JournalKeeper, atDirectory: Bool = false,
    _ body: @escaping @Sendable () throws -> Void
  ) throws {
    let left = Monitor<(@Sendable () throws -> Void)?>(body)
    let failures = Monitor<[String]>([])
    let watch = Faults.watch(below: keeper.directory) { call, phase in
      guard call == .sync, case .after(let place) = phase else { return }
      let path = (try? FileSystem.readlink(place)) ?? place
      guard atDirectory ? path == keeper.directory : path.hasSuffix(".tmp"),
        let body = left.withLock({ $0.take() })
      else { return }
      do { try body() } catch { failures.withLock { $0.append("\(error)") } }
    }
    defer { Faults.unwatch(watch) }
    try keeper.renew()
    #expect(left.withLock { $0 == nil } && failures.withLock { $0 } == [])
  }

  /// Gives up the cut, with another state of a file.
  private static func giveUp(_ keeper: JournalKeeper, _ cut: UInt64, _ name: String) {
    keeper.state.withLock { s in
      var after = s.overlay
      after.isCutting = false
      if let number = after.changes[JournalKeeper.place(name)]?.inode {
        after.nodes[number]?.hasNewAttributes = true
      }
      let edits = OverlayEdits(from: s.overlay, to: after)
      keeper.journal.settle(cut, isCommitted: false, epochs: [:], edits)
      s.overlay.apply(edits)
    }
  }

  @Test(
    "A cut that is given up while a renewal moves bytes leaves the same tree after a mount",
    arguments: [false, true])
  func givenUpInRenewal(atDirectory: Bool) throws {
    let keeper = try crowded(path())
    let record = try taken(keeper, 1, "f3")
    let before = keeper.overlay
    try renew(keeper, atDirectory: atDirectory) { Self.giveUp(keeper, 1, "f3") }
    let isMoved = keeper.overlay.nodes.contains { before.nodes[$0.key]?.file != $0.value.file }
    #expect(isMoved)
    #expect(try !keeper.journal.take(record))
    try keeper.collect()
    let found = try JournalKeeper(keeper.directory, isRenewed: false)
    let isSame = found.overlay == keeper.overlay
    #expect(isSame)
    #expect(try found.text("f3") == "text 3")
  }

  @Test("A cut of which a renewal has moved bytes cannot be taken, and begins again (J4)")
  func movedMeanwhile() throws {
    let keeper = try crowded(path())
    let record = try taken(keeper, 1, "f3")
    try keeper.renew()
    #expect(try !keeper.journal.take(record))
    Self.giveUp(keeper, 1, "f3")
    let again = try taken(keeper, 1, "f3")
    try keeper.journal.take(again)
    let found = try JournalKeeper(keeper.directory, lastCut: 1, isRenewed: false)
    #expect(found.unsettled == again)
  }

  @Test("What a cut took can be read after a renewal and a kill, though it was written over since")
  func writtenOver() throws {
    let keeper = try JournalKeeper(path())
    try keeper.save("a", "taken")
    let record = try taken(keeper, 1, "a")
    try keeper.save("a", "newer")
    try keeper.renew()
    try keeper.journal.take(record)
    let found = try JournalKeeper(keeper.directory, lastCut: 1)
    let save = try #require(found.unsettled?.taken.nodes.values.first?.save)
    var texts: [String] = []
    var extents: [Extent] = []
    save.content.extents.forEach { extents.append($0) }
    for extent in extents {
      texts.append(
        String(decoding: try JournalKeeper.read(extent, from: found.journal), as: UTF8.self))
    }
    #expect(texts == ["taken"])
  }

  @Test(
    "If the end of a cut cannot be written during a renewal, the journal is begun anew once more")
  func settledInRenewalOnBadDisk() throws {
    let keeper = try JournalKeeper(path())
    try keeper.save("a", "a")
    _ = try taken(keeper, 1, "a")
    try renew(keeper) {
      let token = Faults.arm(
        Faults.Plan(calls: [.write], below: keeper.directory, action: .fail(Errno.inputOutput)))
      Self.giveUp(keeper, 1, "a")
      Faults.disarm(token)
    }
    #expect(throws: StoreError.self) { try keeper.create("b") }
    #expect(keeper.journal.needsRenewal(atRest: false))
    try keeper.renew()
    try keeper.save("b", "b")
    let found = try JournalKeeper(keeper.directory)
    let isSame = found.overlay == keeper.overlay
    #expect(isSame && !found.overlay.isCutting)
  }
}
