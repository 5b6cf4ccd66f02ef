@testable import LLVSCore
@testable import LLVSExchange

/// What comes from peers: the original's JSON, and our attributes in its metadata.
enum WireTargets {
  private static func read(version bytes: [UInt8], pieceSize: Int) -> Version? {
    try? Version(reading: WireInput(name: "v", bytes: bytes, pieceSize: pieceSize))
  }

  private static func written(_ version: Version) throws(FuzzTarget.Failure) -> [UInt8] {
    var out: [UInt8] = []
    do throws(StoreError) {
      try version.write(to: WireOutput { (piece) throws(StoreError) in out += Array(piece) })
    } catch {
      throw FuzzTarget.Failure(description: "a version that was read cannot be written: \(error)")
    }
    return out
  }

  static func version(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    let whole = read(version: bytes, pieceSize: 65_536)
    let pieces = read(version: bytes, pieceSize: 16)
    try expect(whole == pieces, "how the bytes come makes a difference")
    guard let version = whole else { return }
    try expect(WireName.fault(of: version.id) == nil, "an id that cannot be a file's name")
    let text = try written(version)
    guard let again = read(version: text, pieceSize: 65_536) else {
      throw FuzzTarget.Failure(description: "what was written cannot be read")
    }
    try expect(
      again == version && again.timestamp.bitPattern == version.timestamp.bitPattern,
      "a version comes back changed")
    _ = Version.metadataDigest(version.metadata) { _, bytes in bytes }
    _ = Version.line(version.metadata)
    let packed = Version.encode(version.metadata)
    try expect(Version.decodeMetadata(packed) == version.metadata, "metadata comes back changed")
    for list in [AttributeList.values, .directories] { try attributes(list, version.metadata) }
  }

  private static func read(changes bytes: [UInt8], pieceSize: Int) -> [WireChange<[UInt8]>]? {
    let input = WireInput(name: "c", bytes: bytes, pieceSize: pieceSize)
    var changes: [WireChange<[UInt8]>] = []
    let outcome: Void? = try? input.read(into: MemorySink(atMost: 1 << 20)) { changes.append($0) }
    return outcome.map { changes }
  }

  static func changes(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    let whole = read(changes: bytes, pieceSize: 65_536)
    try expect(
      whole == read(changes: bytes, pieceSize: 16), "how the bytes come makes a difference")
    for change in whole ?? [] {
      try expect(
        change.key.bytes.count <= ExchangeLimits.keyLength
          && String(validating: change.key.bytes, as: UTF8.self) != nil, "a key out of bounds")
    }
  }

  /// A frame as it is packed, and bytes packed into one.
  static func attributes(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    let list = bytes.first.map { $0 & 1 == 0 } ?? true ? AttributeList.values : .directories
    let body = Array(bytes.dropFirst())
    try attributes(list, [list.metadataKey(0): Version.MetadataValue(data: body)])
    guard let packed = try? Zstd.pack(body) else { return }
    try attributes(list, [list.metadataKey(0): Version.MetadataValue(data: packed)])
  }

  private static func attributes(
    _ list: AttributeList, _ metadata: Version.Metadata
  ) throws(FuzzTarget.Failure) {
    var reader = AttributeReader(list, of: metadata)
    var writer = AttributeWriter(list)
    var items: [AttributeItem] = []
    do throws(StoreError) {
      while let item = try reader.next() { items.append(item) }
    } catch {
      return
    }
    var copy: Version.Metadata = [:]
    do throws(StoreError) {
      for item in items { try writer.append(item) }
      try writer.finish(into: &copy)
    } catch {
      throw FuzzTarget.Failure(description: "attributes that were read cannot be written: \(error)")
    }
    var again = AttributeReader(list, of: copy)
    for item in items {
      try expect((try? again.next()) == item, "attributes come back changed")
    }
  }

  // MARK: Seeds

  static let versionSeeds: [[UInt8]] = [
    Array(#"{"version":{"identifier":"A","timestamp":1.5}}"#.utf8),
    Array(
      #"""
      {"version":{"identifier":"77AA","predecessors":{"idOfFirst":"B","idOfSecond":"C\u00e9"},
      "timestamp":7.1e8,"valueDataSize":12,"metadata":["__llvs_branch",{"data":"Im1haW4i"},
      "llvs.digest",{"data":""}]}}
      """#.utf8),
    Array(
      "\u{FEFF}{\"x\":[1,{\"y\":null}],\"version\":{\"timestamp\":-0,\"identifier\":\"é\"}}".utf8),
  ]

  static let changeSeeds: [[UInt8]] = [
    Array(
      #"""
      [{"insert":{"id":"a/b","data":"aGVsbG8="}},{"update":{"id":"c","data":"","storedVersionId":"X"}},
      {"remove":"d"},{"preserve":{"valueId":"e","storedVersionId":"Y"}},{"preserveRemoval":"\ud83d\ude00"}]
      """#.utf8),
    Array("[]".utf8),
  ]

  static var attributeSeeds: [[UInt8]] {
    var entry: [UInt8] = [0]
    var attributes = Attributes(mode: 0o640)
    attributes.mtime = Attributes.Time(seconds: 1_700_000_000, nanoseconds: 5)
    attributes.uid = 3
    attributes.extended = [Attributes.Extended(name: Array("user.x".utf8), value: [1, 2])]
    entry.append(bigEndian: UInt32(3))
    entry += Array("a/b".utf8)
    entry += attributes.encoded
    var frame: [UInt8] = [0]
    frame.append(bigEndian: UInt32(entry.count))
    frame += entry
    var seeds = [frame, [0], [1]]
    if let packed = try? Zstd.pack(Array(frame.dropFirst())) { seeds.append([0] + packed) }
    seeds.append([1, 0, 0, 0, 8, 255, 0, 0, 0, 3] + Array("d/e".utf8))
    return seeds
  }
}
