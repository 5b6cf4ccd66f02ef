import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

@Suite("Attributes on the wire")
struct AttributeListTests {
  private func item(_ number: Int) -> AttributeItem {
    AttributeItem(
      key: Key("k\(1000 + number)"), kind: .regular,
      attributes: Attributes(
        mode: 0o644, mtime: .init(seconds: Int64(number), nanoseconds: 5),
        extended: [.init(name: Array("user.a".utf8), value: [UInt8(number % 256)])]))
  }

  private func read(_ list: AttributeList, _ metadata: Version.Metadata) throws -> [AttributeItem] {
    var reader = AttributeReader(list, of: metadata)
    var items: [AttributeItem] = []
    while let item = try reader.next() { items.append(item) }
    return items
  }

  @Test("items come back, over several frames too")
  func roundTrip() throws {
    let items = (0..<500).map(item)
    for length in [AttributeList.frameLength, 1000] {
      var writer = AttributeWriter(.values, frameLength: length)
      for item in items { try writer.append(item) }
      var metadata: Version.Metadata = [:]
      try writer.finish(into: &metadata)
      #expect(metadata.count == (length == 1000 ? 28 : 1) || length == 1000 && metadata.count > 10)
      #expect(try read(.values, metadata) == items)
      #expect(try read(.directories, metadata).isEmpty)
    }
  }

  @Test("directories that came and went")
  func directories() throws {
    let items = [
      AttributeItem(key: Key("a"), kind: .directory, attributes: Attributes(mode: 0o700)),
      AttributeItem(key: Key("b"), kind: nil, attributes: Attributes()),
    ]
    var writer = AttributeWriter(.directories)
    for item in items { try writer.append(item) }
    #expect(throws: StoreError.self) { try writer.append(items[0]) }
    var metadata: Version.Metadata = [:]
    try writer.finish(into: &metadata)
    #expect(try read(.directories, metadata) == items)
    #expect(throws: StoreError.self) {
      try read(
        .values, [AttributeList.values.metadataKey(0): require(metadata[.init("llvs.directories")])]
      )
    }
  }

  @Test("damage, gaps and bombs are refused")
  func refused() throws {
    var writer = AttributeWriter(.values, frameLength: 1000)
    for number in 0..<100 { try writer.append(item(number)) }
    var metadata: Version.Metadata = [:]
    try writer.finish(into: &metadata)
    var gap = metadata
    gap[AttributeList.values.metadataKey(1)] = nil
    #expect(throws: StoreError.self) { try read(.values, gap) }
    var swapped = metadata
    swapped[AttributeList.values.metadataKey(1)] = metadata[AttributeList.values.metadataKey(0)]
    #expect(throws: StoreError.self) { try read(.values, swapped) }
    var bomb = metadata
    bomb[AttributeList.values.metadataKey(0)] = .init(
      data: try Zstd.pack([UInt8](repeating: 0, count: AttributeList.frameLength + 1)))
    #expect(throws: StoreError.self) { try read(.values, bomb) }
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let good = try Zstd.unpack(
      require(metadata[AttributeList.values.metadataKey(0)]).data, atMost: 1 << 20)
    for _ in 0..<2000 {
      var bytes = try require(good)
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
        in: 0...255, using: &random)
      _ = try? read(.values, [AttributeList.values.metadataKey(0): .init(data: Zstd.pack(bytes))])
    }
  }
}
