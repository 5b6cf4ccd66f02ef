import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// How much of a long value takes no room.
@Suite(.timeLimit(.minutes(1)))
struct ContentHolesTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func write(_ source: TestSource, in store: Store) throws -> StoredContent {
    try store.write { (transaction) throws(StoreError) in
      // What names nothing is not written.
      transaction.set("test", to: [1])
      return try transaction.write(source)
    }
  }

  /// Bytes in which every fourth run of 200,000 is zeros.
  private func sparse(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: 11)
    var bytes: [UInt8] = []
    for run in 0..<count / 200_000 {
      bytes +=
        run % 4 == 3 ? [UInt8](repeating: 0, count: 200_000) : random.bytes(200_000).map { $0 | 1 }
    }
    return bytes
  }

  /// Damages every record of the store but one.
  private func damage(allBut place: Location) throws {
    let segments = directory.file("s/segments")
    for name in try FileSystem.list(segments) {
      let file = try File("\(segments)/\(name)", .readWrite)
      let size = Int(try file.status().size)
      let header = try file.read(40, at: 0)
      let isIts = Int(name.prefix { $0.isNumber }) == Int(place.segment)
      let kept = try isIts ? file.read(Int(place.length), at: place.offset) : []
      try file.write([UInt8](repeating: 0x55, count: size), at: 0)
      try file.write(header, at: 0)
      if isIts { try file.write(kept, at: place.offset) }
    }
  }

  @Test("how much of a long value is zeros is told by its topmost node alone")
  func topmost() throws {
    let bytes = sparse(24_000_000)
    let (first, second): (StoredContent, StoredContent)
    do {
      let store = try Store.open(path: directory.file("s"), create: true)
      first = try write(TestSource(bytes: bytes), in: store)
      var changed = bytes
      changed.replaceSubrange(10_500_000..<10_504_096, with: [UInt8](repeating: 9, count: 4096))
      let known: [(Range<UInt64>, isHole: Bool)] = [
        (0..<10_500_000, false), (10_504_096..<UInt64(bytes.count), false),
      ]
      second = try write(TestSource(bytes: changed, base: first, known: known), in: store)
      #expect(try store.contents.zeroBytes(first) == 6_000_000)
      #expect(try store.contents.zeroBytes(second) == 6_000_000)
    }
    guard case .tree(let place) = second.content else {
      Issue.record("a long value is a tree of chunks")
      return
    }
    try damage(allBut: place)
    let store = try Store.open(path: directory.file("s"))
    #expect(try store.contents.zeroBytes(second) == 6_000_000)
    #expect(throws: StoreError.self) { try store.contents.zeroBytes(first) }
    #expect(throws: StoreError.self) { try store.contents.bytes(second) }
  }

  /// The same value as programs wrote it whose nodes told nothing of zeros.
  private func strippedOfZeros(_ stored: StoredContent, in store: Store) throws -> StoredContent {
    guard case .tree(let place) = stored.content else { return stored }
    let top = try store.contents.node(place)
    let items = top.items.map {
      ValueNode.Item(kind: $0.kind, length: $0.length, digest: $0.digest, location: $0.location)
    }
    let node = try #require(ValueNode(level: top.level, items: items))
    #expect(node.zeros == nil)
    #expect(node.digest == top.digest)
    store.records.beginWriting()
    defer { store.records.endWriting() }
    let other = try node.encoded().withUnsafeBytes { try store.records.append(.valueNode, $0) }
    return StoredContent(length: stored.length, digest: stored.digest, content: .tree(other))
  }

  @Test("where nodes do not tell it, zeros are counted below; what is made of such a value tells")
  func untold() throws {
    let bytes = sparse(24_000_000)
    let store = try Store.open(path: directory.file("s"), create: true)
    let old = try strippedOfZeros(try write(TestSource(bytes: bytes), in: store), in: store)
    #expect(try store.contents.bytes(old) == bytes)
    #expect(try store.contents.zeroBytes(old) == 6_000_000)
    // Who changes it has looked it up.
    var changed = bytes
    changed[10_500_000] ^= 1
    let known: [(Range<UInt64>, isHole: Bool)] = [
      (0..<10_500_000, false), (10_500_001..<UInt64(bytes.count), false),
    ]
    let new = try write(TestSource(bytes: changed, base: old, known: known), in: store)
    guard case .tree(let place) = new.content else {
      Issue.record("a long value is a tree of chunks")
      return
    }
    #expect(try store.contents.node(place).zeros == 6_000_000)
    #expect(try store.contents.bytes(new) == changed)
  }

  @Test("a node has one spelling, and none that has more zeros than bytes")
  func spelling() throws {
    let place = Location(segment: 1, offset: 40, length: 90)
    var item = ValueNode.Item(
      kind: .node, length: 90_000, digest: .ofNothing, location: place, zerosBelow: 70_000)
    for zeros in [nil, 0, 70_000, 90_000] as [UInt64?] {
      item.zerosBelow = zeros
      let node = try #require(ValueNode(level: 1, items: [item]))
      let read = try #require(ValueNode(bytes: node.encoded()))
      #expect(read.items == [item])
      #expect(read.encoded() == node.encoded())
      #expect(read.digest == node.digest)
      #expect(read.zeros == zeros)
    }
    item.zerosBelow = 90_001
    let wrong = try #require(ValueNode(level: 1, items: [item]))
    #expect(ValueNode(bytes: wrong.encoded()) == nil)
  }
}
