@testable import LLVSCore

/// What the store reads back from its own files, which may be damaged.
enum RecordTargets {
  static func mapNode(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    guard let node = MapNode(checking: bytes) else { return }
    try expect(node.count >= 1 && node.count <= MapItem.maximumCount, "a node of no size")
    _ = (node.digest, node.entryCount, node.endsRun)
    for index in 0..<node.count {
      let key = node.key(index)
      try expect(node.search(key, node.isDirectory(index)) == index, "an item is not found")
      if node.level > 0 {
        _ = node.child(index)
        continue
      }
      guard let entry = node.entry(index) else {
        throw FuzzTarget.Failure(description: "a checked leaf has an item that is no entry")
      }
      try expect(entry.key.bytes == key && entry.kind == node.kind(index), "an item is another")
      var item = node.withItem(index) { Array($0) }
      // Older programs wrote a number before the revision, which no program reads.
      item.replaceSubrange(item.count - 16..<item.count - 8, with: repeatElement(0, count: 8))
      try expect(MapItem.encode(entry) == item, "an item has two spellings")
    }
  }

  /// A record's header, the node of a long value, a change list and what the catalog keeps.
  static func record(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    if let header = bytes.withUnsafeBytes({ RecordHeader($0) }) {
      try expect(
        header.rawLength <= header.kind.bound && header.payloadLength <= header.rawLength,
        "a record out of bounds")
      bytes.withUnsafeBytes { raw in
        let payload = UnsafeRawBufferPointer(rebasing: raw[SegmentFormat.recordHeaderSize...])
        _ = header.expectedChecksum(payload)
        _ = [UInt8](unsafeUninitializedCapacity: min(header.rawLength, 1 << 20)) { buffer, used in
          used = 0
          _ = Compression().decompress(payload, into: UnsafeMutableRawBufferPointer(buffer))
        }
      }
    }
    if let node = ValueNode(bytes: bytes) {
      try expect(node.encoded() == bytes, "a node of a value has two spellings")
      _ = (node.digest, node.length, node.index(of: node.length / 2))
    }
    if let list = ChangeList.decode(bytes) {
      try expect(ChangeList.decode(ChangeList.encode(list)) == list, "a change list is another")
    }
    if let metadata = Version.decodeMetadata(bytes) {
      try expect(
        Version.decodeMetadata(Version.encode(metadata)) == metadata, "metadata are others")
    }
    _ = bytes.parsed { $0.storedContent() }
    _ = bytes.parsed { $0.mapRoot() }
    var isSegment = true
    do throws(StoreError) {
      _ = try SegmentFormat.check(
        header: Array(bytes.prefix(SegmentFormat.headerSize)), number: 1,
        store: [UInt8](repeating: 7, count: 16), path: "s")
    } catch {
      isSegment = false
    }
    if isSegment {
      try expect((1...SegmentFormat.rewritten).contains(bytes[7]), "another format is taken")
    }
    _ = Zstd.unpack(bytes, atMost: 1 << 16)
  }

  /// The record in which a version tells of the document that it was made from; the bytes are compressed.
  static func document(_ bytes: [UInt8]) throws(FuzzTarget.Failure) {
    guard let frame = try? Zstd.pack(bytes),
      let record = DocumentRecord([.document: Version.MetadataValue(data: frame)])
    else { return }
    for item in record.items {
      try expect(item.key.bytes.count <= Entry.maximumKeyLength, "a key that is too long")
      try expect(item.values.allSatisfy { $0.dot.usn > 0 }, "a number that no write has")
    }
    try expect(record.authors.allSatisfy { $0.usn >= 0 }, "a number that no author has")
    var metadata: Version.Metadata = [:]
    do throws(StoreError) { try record.add(to: &metadata) } catch { return }
    let again = DocumentRecord(metadata)
    try expect(again?.directory == record.directory, "a record has two directories")
    try expect(again?.items.count == record.items.count, "a record has more keys, or fewer")
  }

  // MARK: Seeds

  static var documentSeeds: [[UInt8]] {
    guard let author = DocumentAuthor(bytes: [UInt8](repeating: 5, count: 16)) else { return [] }
    let dots = [DocumentDot(author: author, usn: 3), DocumentDot(author: author, usn: 4)]
    let record = DocumentRecord(
      directory: DocumentDirectory(path: Array("notes".utf8)), layer: 1,
      application: DocumentApplication(id: [97], major: 1, minor: 2, description: [98]),
      authors: [DocumentRecord.Author(id: author, usn: 4, name: Array("phone".utf8))],
      items: [
        DocumentRecord.Item(
          key: Key(bytes: Array("notes/a".utf8)),
          values: [
            DocumentValue(dot: dots[0], holder: nil, isRemoval: false, type: 1, time: 7),
            DocumentValue(dot: dots[1], holder: nil, isRemoval: true, time: 8),
          ])
      ])
    var metadata: Version.Metadata = [:]
    do throws(StoreError) { try record.add(to: &metadata) } catch { return [] }
    let bytes = metadata[.document].flatMap { Zstd.unpack($0.data, atMost: 1 << 16) }
    return [bytes ?? [], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
  }

  private static func entry(_ key: String, _ content: [UInt8]) -> Entry {
    Entry(
      key: Key(bytes: Array(key.utf8)), kind: .regular, attributes: Attributes(mode: 0o600),
      stored: StoredContent(
        length: UInt64(content.count), digest: Digest.of(content), content: .inline(content)),
      storedVersion: VersionNumber(1), revision: 4)
  }

  static var nodeSeeds: [[UInt8]] {
    let leaf = [entry("a", [1]), entry("b/c", [1, 2, 3])].map { MapItem.encode($0) }
    let inner = ["b", "d"].map { key in
      Array(key.utf8).withUnsafeBytes {
        MapItem.encode(
          MapChild(
            location: Location(segment: 1, offset: 40, length: 90), digest: .ofNothing, count: 3),
          lastKey: $0, directory: false)
      }
    }
    return [[1, 0, 0, 2] + leaf.joined(), [1, 1, 0, 2] + inner.joined()]
  }

  static var recordSeeds: [[UInt8]] {
    let location = Location(segment: 1, offset: 40, length: 90)
    let node = ValueNode(
      level: 0,
      items: [
        .init(kind: .chunk, length: 5, digest: .ofNothing, location: location),
        .init(kind: .zeros, length: 70_000, digest: nil, location: nil),
      ])
    let inner = ValueNode(
      level: 1,
      items: [
        .init(kind: .node, length: 5, digest: .ofNothing, location: location),
        .init(
          kind: .node, length: 90_000, digest: .ofNothing, location: location, zerosBelow: 70_000),
      ])
    let changes = ChangeList.encode([
      .insert(Key(bytes: [97])), .preserve(Key(bytes: [98]), storedVersion: Version.ID("X")),
    ])
    var record = [UInt8](repeating: 0, count: SegmentFormat.recordHeaderSize)
    [1, 2, 3].withUnsafeBytes { payload in
      let header = RecordHeader(kind: .chunk, flags: 0, payload: payload, rawLength: payload.count)
      record.withUnsafeMutableBytes { header.write(to: $0) }
      record += Array(payload)
    }
    let metadata = Version.encode([
      Version.MetadataKey("k"): Version.MetadataValue(data: [1, 2])
    ])
    var root: [UInt8] = []
    root.append(MapRoot(location: location, digest: .ofNothing, count: 1))
    return [
      node?.encoded() ?? [], inner?.encoded() ?? [], changes, record, metadata, root,
      SegmentFormat.header(number: 1, store: [UInt8](repeating: 7, count: 16)),
    ]
  }
}
