import ObjectStoreSupport
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

@Suite("Chunks in bundles that are patches of others", .timeLimit(.minutes(5)))
struct BundlePatchTests {
  private let world: RemoteWorld
  private var random = SeededRandom(seed: 7)

  init() throws { world = try RemoteWorld() }

  private func changed(_ bytes: [UInt8], _ number: Int) -> [UInt8] {
    var bytes = bytes
    for part in 0..<4 { bytes[(number * 977 + part * 7919) % bytes.count] ^= UInt8(1 + number % 7) }
    return bytes
  }

  private func total() throws -> Int {
    try world.objects.names.reduce(0) { try $0 + world.objects.bytes($1).count }
  }

  private func expectWhole(like store: Store, _ name: String) throws {
    let fresh = try world.store(name)
    let report = try world.retrieve(fresh)
    #expect(report.unreadable.isEmpty, "\((report.refused + report.waiting).map(\.reason))")
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(store))
    #expect(try fresh.verify().isSound)
  }

  @Test("a small change of a value costs little, in one chunk and in one of many")
  mutating func small() throws {
    let a = try world.store("a")
    for length in [50_000, 2_000_000] {
      var value = random.bytes(length)
      try world.make(a, ["k\(length)": value])
      try world.send(a)
      for number in 0..<5 {
        let before = try total()
        value = changed(value, number)
        try world.make(a, ["k\(length)": value])
        try world.send(a)
        // Of a long value the nodes are sent whole.
        #expect(try total() - before < (length == 50_000 ? 2500 : 12_000))
      }
    }
    try expectWhole(like: a, "fresh")
  }

  @Test("a store that took a value from another writer sends patches of that writer's chunks")
  mutating func ofOthers() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var value = random.bytes(60_000)
    try world.make(a, ["k": value])
    try world.send(a)
    for number in 0..<10 {
      let store = number % 3 == 0 ? a : b
      try world.retrieve(store)
      let before = try total()
      value = changed(value, number)
      try world.make(store, ["k": value])
      try world.send(store)
      #expect(try total() - before < 2500)
    }
    try world.retrieve(a)
    try expectWhole(like: a, "fresh")
  }

  @Test("bundles that are combined keep patches, and the bases stay when the old ones are removed")
  mutating func combined() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var value = random.bytes(60_000)
    for number in 0..<70 {
      let store = number % 2 == 0 ? a : b
      try world.retrieve(store)
      value = changed(value, number)
      try world.make(store, ["k": value])
      try world.send(store)
      if number % 9 == 0 { world.clock.advance(hours: 25) }
      if number % 20 == 0 { try expectWhole(like: store, "fresh\(number)") }
    }
    for _ in 0..<4 {
      for store in [a, b] {
        world.clock.advance(hours: 25)
        try world.retrieve(store)
        try world.make(store, ["other": random.bytes(10)])
        try world.send(store)
      }
    }
    try world.retrieve(a)
    #expect(try world.objects.names.count < 40)
    // 70 versions of 60,000 bytes that differ in a few.
    #expect(try total() < 500_000)
    try expectWhole(like: a, "end")
    let report = try world.remote().verify(for: a, ExchangeControl())
    #expect(report.refused.isEmpty && report.waiting.isEmpty)
  }

  @Test("pages that do not compress are sent once each, and a clone has all versions")
  mutating func pages() throws {
    let a = try world.store("a")
    var value = random.bytes(65_536)
    try world.make(a, ["k": value])
    try world.send(a)
    let before = try total()
    // With more bundles some are replaced.
    for page in 0..<14 {
      let start = page * 5 % 16 * 4096
      value.replaceSubrange(start..<(start + 4096), with: random.bytes(4096))
      try world.make(a, ["k": value])
      try world.send(a)
    }
    let taken = try total() - before
    #expect(taken < 14 * 4096 * 5 / 4, "\(taken) bytes for \(14 * 4096)")
    try expectWhole(like: a, "fresh")
    #expect(try world.remote().verify(for: a, ExchangeControl()).remoteIDs.count == 15)
  }

  @Test("a lost base and a damaged one are put again by one send", arguments: [true, false])
  mutating func lostBase(isLost: Bool) throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var value = random.bytes(60_000)
    for number in 0..<4 {
      value = changed(value, number)
      try world.make(a, ["k": value])
      try world.send(a)
    }
    try world.retrieve(b)
    let first = try world.objects.names.sorted()[0]
    if isLost {
      try world.objects.remove(first)
    } else {
      var bytes = try world.objects.bytes(first)
      bytes[3000] ^= 4
      try world.objects.replace(first, by: bytes)
      let report = try world.remote().verify(for: b, ExchangeControl())
      #expect(!report.refused.isEmpty && report.remoteIDs.isEmpty)
    }
    let early = try world.store("early")
    #expect(try world.retrieve(early).taken.isEmpty)
    try world.send(b)
    try expectWhole(like: a, "fresh")
    #expect(try world.remote().verify(for: b, ExchangeControl()).remoteIDs.count == 4)
    try world.retrieve(early)
    #expect(try RemoteWorld.content(early) == RemoteWorld.content(a))
  }

  @Test("a patch whose base is nowhere waits, and is read once the base is there")
  mutating func waits() throws {
    let a = try world.store("a")
    var value = random.bytes(60_000)
    try world.make(a, ["k": value])
    try world.send(a)
    let base = try world.objects.names[0]
    let bytes = try world.objects.bytes(base)
    value = changed(value, 1)
    try world.make(a, ["k": value])
    try world.send(a)
    try world.objects.remove(base)
    let b = try world.store("b")
    let report = try world.retrieve(b)
    #expect(report.taken.isEmpty && !report.waiting.isEmpty)
    try world.objects.replace(base, by: bytes)
    #expect(try world.retrieve(b).taken.count == 2)
  }

  @Test("a reader made from docs/formats.md reads patches")
  mutating func byThePage() throws {
    let a = try world.store("a")
    let first = random.bytes(60_000)
    let second = changed(first, 1)
    for value in [first, second] {
      try world.make(a, ["k": value])
      try world.send(a)
    }
    let bundles = try world.objects.names.sorted().map { name in
      try PageBundle(world.objects.bytes(name), named: name)
    }
    #expect(bundles.map { $0.items.map(\.bases.count) } == [[0], [1]])
    #expect(bundles[1].needs.map(\.sequence) == [0])
    let value = try #require(bundles[1].versions[0].changes[0].value)
    #expect(try bundles[1].bytes(of: value, with: bundles) == second)
  }

  @Test(
    "tables with patches that break the rules are refused",
    arguments: ["none", "many", "shared", "node"])
  func malformed(_ how: String) throws {
    let base = [UInt8](repeating: 1, count: 5000)
    let made = try BundleMade(scratch: world.directory.path) { writer in
      let bytes = [UInt8](repeating: 2, count: 200)
      try writer.add(BundleItem(.chunk, Digest.of(base)), base)
      try writer.add(BundleItem(.chunk, Digest.of(bytes)), bytes)
    }
    let reader = try made.reader()
    var table: [UInt8] = []
    let items = try reader.table().items
    for (index, item) in items.enumerated() {
      let isPatch = index == 1
      let kind: BundleItem.Kind = how == "node" && isPatch ? .node : .chunk
      table.append(kind.rawValue | (isPatch ? BundleFormat.patchFlag : 0))
      table.append(item.digest)
      table.append(varint: index == 0 ? 5000 : 200)
      guard isPatch else { continue }
      let bases = how == "none" ? 0 : how == "many" ? BundleFormat.mostBases + 1 : 1
      table.append(UInt8(bases))
      for _ in 0..<bases { table.append(items[0].digest) }
    }
    var directory = BundleDirectory(writer: "w", sequence: 3)
    let content: [UInt8] = base + [UInt8](repeating: 2, count: 200)
    directory.content =
      how == "shared"
      ? [.init(stands: 5200, unpacked: 5200, items: 2)]
      : [
        .init(stands: 5000, unpacked: 5000, items: 1), .init(stands: 200, unpacked: 200, items: 1),
      ]
    directory.table = [
      .init(stands: table.count, unpacked: table.count, hash: Digest.of(table))
    ]
    directory.stays = [BundleClaim(writer: "w", upTo: 3, kept: SequenceRuns([3]))]
    let forged = BundleMade(writer: "w", content + table, directory)
    #expect(throws: StoreError.self) { try forged.reader().table() }
  }
}
