import LLVSCore

@testable import StoreSupport

/// Entries for tests of maps.
enum Samples {
  static func value(
    _ key: String, _ bytes: [UInt8] = [], attributes: Attributes = Attributes(), version: UInt32 = 1
  ) -> Entry {
    Entry(
      key: Key(key), kind: .regular, attributes: attributes,
      stored: StoredContent(
        length: UInt64(bytes.count), digest: Digest.of(bytes),
        content: bytes.isEmpty
          ? .none
          : bytes.count <= Entry.inlineLimit
            ? .inline(bytes) : .chunk(Location(segment: 9, offset: 9, length: 9))),
      storedVersion: VersionNumber(version), revision: 0)
  }

  static func directory(_ key: String) -> Entry {
    Entry(
      key: Key(key), kind: .directory, attributes: Attributes(mode: 0o755),
      stored: StoredContent(length: 0, digest: Digest.of([]), content: .none),
      storedVersion: VersionNumber(1), revision: 0)
  }

  static func numbered(_ count: Int) -> [Entry] {
    (0..<count).map { value("k\($0)", Array("k\($0)".utf8)) }.sorted { $0.key < $1.key }
  }

  static func empty(_ nodes: MemoryNodes = MemoryNodes(), cache: Int = 1 << 22) -> ValueMap {
    ValueMap(emptyIn: nodes, cache: NodeCache(budget: cache))
  }

  static func map(
    _ entries: [Entry], _ nodes: MemoryNodes = MemoryNodes()
  ) throws(StoreError) -> ValueMap {
    try empty(nodes).applying(edits: entries.sorted(by: precedes).map { .put($0) })
  }

  static func precedes(_ a: Entry, _ b: Entry) -> Bool {
    MapEdit.precedes(.put(a), .put(b))
  }

  static func entries(of map: ValueMap) throws(StoreError) -> [Entry] {
    var cursor = MapCursor(map)
    var all: [Entry] = []
    while let entry = try cursor.next() { all.append(entry) }
    return all
  }
}
