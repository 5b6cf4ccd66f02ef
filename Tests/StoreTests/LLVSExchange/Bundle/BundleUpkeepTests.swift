import Foundation
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange

@Suite("Upkeep of a writer's own bundles", .timeLimit(.minutes(2)))
struct BundleUpkeepTests {
  private let place: ExchangePlace
  private var directory: TemporaryDirectory { place.directory }
  private var folder: String { place.folder }

  init() throws { place = try ExchangePlace() }

  private func store(_ name: String) throws -> Store { try place.store(name) }

  private func bundles() throws -> [String] { try FileSystem.list("\(folder)/bundles").sorted() }

  /// Makes versions in a line, each sent by itself.
  private func sendOneByOne(_ store: Store, _ count: Int) throws {
    for _ in 0..<count {
      let last = try store.mostRecentHead?.id
      var random = SeededRandom(seed: UInt64(try store.statistics().versions))
      _ = try store.makeVersion(
        basedOnPredecessor: last, updating: [Value(id: .init("k"), data: random.bytes(100))])
      #expect(try FolderFormat.bundles.send(store, folder).sent.count == 1)
    }
  }

  /// What a store that was never here finds.
  private func expectWhole(_ count: Int, like store: Store, _ name: String) throws {
    let fresh = try self.store(name)
    let report = try FolderFormat.bundles.retrieve(into: fresh, folder)
    #expect(report.taken.count == count && report.refused.isEmpty && report.waiting.isEmpty)
    let (a, b) = (try #require(try fresh.mostRecentHead), try #require(try store.mostRecentHead))
    #expect(a == b)
    #expect(try fresh.value(id: .init("k"), at: a.id) == store.value(id: .init("k"), at: b.id))
  }

  @Test("many small syncs leave few bundles, and nothing of other writers' is touched")
  func few() throws {
    let (a, b) = (try store("a"), try store("b"))
    try sendOneByOne(b, 10)
    let others = try bundles()
    _ = try FolderFormat.bundles.retrieve(into: a, folder)
    var most = 0
    var taken = 0
    for _ in 0..<15 {
      try sendOneByOne(a, 10)
      taken += try FolderFormat.bundles.retrieve(into: b, folder).taken.count
      most = max(most, try bundles().count - others.count)
    }
    #expect(taken == 150)
    #expect(most <= 40, "\(most)")
    #expect(try Set(bundles()).isSuperset(of: others))
    #expect(try FileSystem.list(folder) == ["bundles"])
    try expectWhole(160, like: a, "c")
    // Who had everything reads what was put together once, and takes nothing.
    #expect(try FolderFormat.bundles.retrieve(into: b, folder).taken.isEmpty)
    #expect(try FolderFormat.bundles.send(b, folder).sent.isEmpty)
    #expect(try FolderFormat.bundles.send(a, folder).sent.isEmpty)
  }

  @Test("bundles stay as they are where something in them rotted since they were sent")
  func rotten() throws {
    func send(_ store: Store, _ number: Int) throws {
      var random = SeededRandom(seed: UInt64(number))
      _ = try store.makeVersion(
        basedOnPredecessor: store.mostRecentHead?.id,
        updating: [Value(id: .init("f\(number)"), data: random.bytes(3000))])
      #expect(try FolderFormat.bundles.send(store, folder).sent.count == 1)
    }
    do {
      let store = try store("a")
      for number in 0..<15 { try send(store, number) }
    }
    do {
      let store = try store("a")
      let head = try #require(try store.version(VersionNumber(15)))
      let entry = try #require(try store.map(of: head).entry(at: Key("f3")))
      guard case .chunk(let place) = entry.stored.content else { throw MissingFixture() }
      let file = try File(store.records.files.path(place.segment), .readWrite)
      let at = place.offset + UInt64(place.length) / 2
      try file.write([try file.read(1, at: at)[0] ^ 4], at: at)
      for number in 15..<19 {
        try send(store, number)
        #expect(try bundles().count == number + 1)
      }
    }
    let other = try store("b")
    #expect(try FolderFormat.bundles.retrieve(into: other, folder).taken.count == 19)
    #expect(try other.verify().isSound)
    // Once it is whole again they are put together.
    let store = try store("a")
    var random = SeededRandom(seed: 3)
    _ = try store.makeVersion(
      basedOnPredecessor: store.mostRecentHead?.id,
      updating: [Value(id: .init("again"), data: random.bytes(3000))])
    #expect(try FolderFormat.bundles.send(store, folder).sent.count == 1)
    #expect(try store.verify().isSound)
    #expect(try bundles().count == 1)
  }

  @Test("a reader in the middle loses its files and goes on with the new one", arguments: 0..<6)
  func reading(_ step: Int) throws {
    let (a, b) = (try store("a"), try store("b"))
    try sendOneByOne(a, 15)
    let before = try bundles()
    var calls = 0
    let control = ExchangeControl(isCancelled: {
      calls += 1
      if calls == step * 7 + 1 {
        do { try sendOneByOne(a, 1) } catch { Issue.record("\(error)") }
      }
      return false
    })
    let report = try FolderFormat.bundles.retrieve(into: b, folder, control)
    try #require(calls > step * 7, "the step is never reached")
    #expect(try Set(bundles()).isDisjoint(with: before))
    let later = try FolderFormat.bundles.retrieve(into: b, folder)
    let ids = report.taken + later.taken
    #expect(Set(ids).count == 16 && ids.count == 16 && report.taken.count >= 15)
    #expect(report.refused.isEmpty)
    #expect(try b.mostRecentHead == a.mostRecentHead)
  }

  @Test("where the old ones cannot be removed, or the new one not be written, nothing is missing")
  func faults() throws {
    let a = try store("a")
    try sendOneByOne(a, 15)
    // With 15 small ones there each send writes its own bundle, then the one of all.
    let plans: [(SystemCall, Int)] = [
      (.rename, 2), (.sync, 3), (.unlink, 1), (.unlink, 3), (.open, 1),
    ]
    for (index, (call, nth)) in plans.enumerated() {
      _ = try a.makeVersion(
        basedOnPredecessor: a.mostRecentHead?.id,
        updating: [Value(id: .init("k"), data: [UInt8(index)])])
      let below = call == .unlink ? "\(folder)/bundles/" : folder
      let token = Faults.arm(
        Faults.Plan(calls: [call], below: below, nth: nth, action: .fail(Errno.inputOutput)))
      let sent = Result { try FolderFormat.bundles.send(a, folder) }
      #expect(Faults.disarm(token) > 0, "\(call)")
      if call != .open { #expect(try sent.get().sent.count == 1, "\(call)") }
      let fresh = try store("r\(index)")
      let report = try FolderFormat.bundles.retrieve(into: fresh, folder)
      #expect(report.taken.count >= 15 + index && report.refused.isEmpty && report.waiting.isEmpty)
    }
    // What could not be removed is not put together once more.
    let before = try bundles().count
    _ = try a.makeVersion(
      basedOnPredecessor: a.mostRecentHead?.id, updating: [Value(id: .init("k"), data: [9])])
    _ = try FolderFormat.bundles.send(a, folder)
    #expect(try bundles().count <= 4, "\(before)")
    try expectWhole(21, like: a, "c")
  }

  @Test("a writer notices that bytes of its own are others by now, and sends what was there again")
  func damaged() throws {
    let a = try store("a")
    try sendOneByOne(a, 5)
    let name = try bundles()[2]
    let file = try File("\(folder)/bundles/\(name)", .readWrite)
    let byte = try file.read(1, at: 40)
    try file.write([byte[0] ^ 1], at: 40)
    // One is read with each send, all in turn.
    var sent = 0
    for number in 0..<6 {
      _ = try a.makeVersion(
        basedOnPredecessor: a.mostRecentHead?.id,
        updating: [Value(id: .init("k"), data: [UInt8(number)])])
      sent += try FolderFormat.bundles.send(a, folder).sent.count
    }
    #expect(sent == 7)
    #expect(try !bundles().contains(name))
    try expectWhole(11, like: a, "c")
  }
}
