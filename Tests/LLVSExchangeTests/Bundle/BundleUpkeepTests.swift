import Foundation
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

@Suite("Upkeep of a writer's own bundles in a folder", .timeLimit(.minutes(2)))
struct BundleUpkeepTests {
  private let place: ExchangePlace
  private var folder: String { place.folder }

  init() throws { place = try ExchangePlace() }

  private func store(_ name: String) throws -> Store { try place.store(name) }

  private func bundles() throws -> [String] { try FileSystem.list("\(folder)/bundles").sorted() }

  /// Makes versions in a line, each sent by itself.
  private func sendOneByOne(_ store: Store, _ count: Int) throws {
    for _ in 0..<count {
      var random = SeededRandom(seed: UInt64(try store.statistics().versions))
      _ = try store.makeVersion(
        basedOnPredecessor: store.mostRecentHead?.id,
        updating: [Value(id: .init("k"), data: random.bytes(200))])
      // More where what was damaged is sent again.
      #expect(try FolderFormat.bundles.send(store, folder).sent.count >= 1)
    }
  }

  /// What a store that was never here finds.
  private func expectWhole(_ count: Int, like store: Store, _ name: String) throws {
    let fresh = try self.store(name)
    let report = try FolderFormat.bundles.retrieve(into: fresh, folder)
    #expect(report.taken.count == count && report.refused.isEmpty && report.waiting.isEmpty)
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(store))
    #expect(try fresh.verify().isSound)
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
      for number in 15..<19 { try send(store, number) }
    }
    try expectWhole(19, like: try store("a"), "b")
  }

  @Test("where a call fails in the middle of upkeep, nothing is missing")
  func faults() throws {
    let a = try store("a")
    try sendOneByOne(a, 15)
    // With 15 small ones there each send writes its own bundle, then the one of all.
    let plans: [(SystemCall, Int)] = [(.rename, 2), (.sync, 3), (.rename, 1), (.open, 1)]
    for (index, (call, nth)) in plans.enumerated() {
      _ = try a.makeVersion(
        basedOnPredecessor: a.mostRecentHead?.id,
        updating: [Value(id: .init("k"), data: [UInt8](repeating: UInt8(index), count: 200))])
      let token = Faults.arm(
        Faults.Plan(calls: [call], below: folder, nth: nth, action: .fail(Errno.inputOutput)))
      _ = try? FolderFormat.bundles.send(a, folder)
      #expect(Faults.disarm(token) > 0, "\(call)")
      let fresh = try store("r\(index)")
      let report = try FolderFormat.bundles.retrieve(into: fresh, folder)
      #expect(report.taken.count >= 15 + min(index, 2) && report.refused.isEmpty)
    }
    try FolderFormat.bundles.send(a, folder)
    try expectWhole(19, like: a, "c")
  }

  @Test("a writer notices that bytes of its own are others by now, and puts what was there again")
  func damaged() throws {
    let a = try store("a")
    try sendOneByOne(a, 5)
    let name = try bundles()[2]
    let file = try File("\(folder)/bundles/\(name)", .readWrite)
    let byte = try file.read(1, at: 40)
    try file.write([byte[0] ^ 1], at: 40)
    // One is read with each send, all in turn.
    try sendOneByOne(a, 6)
    let fresh = try store("c")
    // What was in it is elsewhere, and it is gone.
    let report = try FolderFormat.bundles.retrieve(into: fresh, folder)
    #expect(report.taken.count == 11 && report.refused.isEmpty)
    #expect(try !bundles().contains(name))
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(a))
  }
}
