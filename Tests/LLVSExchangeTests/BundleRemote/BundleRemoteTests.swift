import Foundation
import ObjectStores
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// Stores that meet at a remote of bundles.
@Suite("A remote of bundles", .timeLimit(.minutes(4)))
struct BundleRemoteTests {
  private let world: RemoteWorld

  init() throws { world = try RemoteWorld() }

  /// What a store that was never here finds is what another has.
  private func expectWhole(like store: Store, _ name: String = "fresh") throws {
    let fresh = try world.store(name)
    let report = try world.retrieve(fresh)
    #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(report.refused + report.waiting)")
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(store))
    #expect(try fresh.verify { _, _ in true }.damage.isEmpty)
  }

  @Test("values of every length reach another store, and nothing is sent twice")
  func everyLength() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 5)
    var values: [String: [UInt8]] = ["none": [], "zeros": .init(repeating: 0, count: 700_000)]
    for length in [1, 128, 129, 4096, 65_536, 65_537, 300_000, 3_000_000] {
      values["v\(length)"] = random.bytes(length)
    }
    values["holes"] = random.bytes(90_000) + [UInt8](repeating: 0, count: 200_000) + [1]
    try world.make(a, values)
    #expect(try world.send(a).sent.count == 1)
    let report = try world.retrieve(b)
    #expect(report.taken.count == 1 && report.refused.isEmpty, "\(report.refused)")
    let head = try #require(try b.mostRecentHead)
    for (key, data) in values {
      #expect(try b.value(id: .init(key), at: head.id)?.data == data, "\(key)")
    }
    world.objects.reset()
    #expect(try world.send(a).sent.isEmpty && world.send(b).sent.isEmpty)
    #expect(try world.retrieve(a).taken.isEmpty && world.retrieve(b).taken.isEmpty)
    // One list each.
    #expect(world.objects.counts.requests == 4)
    try world.make(b, ["more": [7]])
    #expect(try world.send(b).sent.count == 1)
    #expect(try world.retrieve(a).taken.count == 1)
    try expectWhole(like: a)
  }

  @Test("names, what came back, and a little of much cost less than a hundredth of a first send")
  func sharing() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 8)
    var tree: [String: [UInt8]] = [:]
    for index in 0..<60 { tree["photos/\(index)"] = random.bytes(100_000 + index) }
    for index in 0..<200 { tree["notes/\(index)"] = random.bytes(2000) }
    tree["disk.img"] = random.bytes(24 << 20)
    try world.make(a, tree)
    world.objects.reset()
    try world.send(a)
    let first = world.objects.counts.put
    #expect(first > 30 << 20)
    try world.retrieve(b)

    func cost(_ store: Store, _ what: String) throws {
      world.objects.reset()
      #expect(try world.send(store).sent.count == 1)
      let put = world.objects.counts.put
      #expect(put * 100 < first, "\(what): \(put) of \(first)")
    }
    // All of it gets other names.
    let moved = Dictionary(uniqueKeysWithValues: tree.map { ("moved/\($0)", $1) })
    try world.make(a, moved, removing: Array(tree.keys))
    try cost(a, "a rename")
    // And comes back.
    try world.make(a, tree, removing: Array(moved.keys))
    try cost(a, "an undo")
    // 4 KiB in the middle of a long value.
    var image = tree["disk.img"] ?? []
    image.replaceSubrange((10 << 20)..<((10 << 20) + 4096), with: random.bytes(4096))
    try world.make(a, ["disk.img": image])
    world.objects.reset()
    try world.send(a)
    let change = world.objects.counts.put
    #expect(change * 100 < first, "\(change) of \(first)")
    try world.retrieve(b)
    // Another store relies on the bytes as well.
    try world.make(b, moved, removing: Array(tree.keys))
    world.objects.reset()
    try world.send(b)
    #expect(world.objects.counts.put * 100 < first)
    try world.retrieve(a)
    try expectWhole(like: a)
  }

  @Test("a terabyte of zeros goes and comes as a few bytes")
  func zeros() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    let path = world.directory.file("sparse")
    let file = try File(path, [.readWrite, .create])
    try file.write([1, 2, 3], at: 1 << 39)
    try file.truncate(to: 1 << 40)
    try a.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      let stored = try transaction.write(FileSource(file, length: 1 << 40))
      let entry = Entry(
        key: Key("sparse"), kind: .regular, attributes: Attributes(), stored: stored,
        storedVersion: number, revision: try transaction.allotRevisions())
      let base = a.map(.empty)
      _ = try transaction.add(
        AuthoredVersion(
          number: number, first: nil, base: base, map: try base.applying(edits: [.put(entry)]),
          message: "by hand"))
    }
    #expect(try world.send(a).sent.count == 1)
    #expect(world.objects.counts.put < 10_000)
    #expect(try world.retrieve(b).taken.count == 1)
    #expect(try RemoteWorld.content(b) == RemoteWorld.content(a))
  }

  @Test("a store that has the bytes asks for none of them again")
  func retrievesNames() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 9)
    var tree: [String: [UInt8]] = [:]
    for index in 0..<100 { tree["photos/\(index)"] = random.bytes(60_000) }
    try world.make(a, tree)
    try world.send(a)
    try world.retrieve(b)
    let moved = Dictionary(uniqueKeysWithValues: tree.map { ("moved/\($0)", $1) })
    try world.make(a, moved, removing: Array(tree.keys))
    try world.send(a)
    world.objects.reset()
    #expect(try world.retrieve(b).taken.count == 1)
    #expect(world.objects.counts.got < 100_000, "\(world.objects.counts.got)")
  }
}
