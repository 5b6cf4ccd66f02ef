// The items of a map node as bytes (all integers big-endian).
//
//   leaf:   u32 length of the item | u32 length of the content | content, as in digest 1 | local part
//           local part: u8 0 none, 1 inline (u8 count, bytes), 2 chunk, 3 tree (location);
//           u32 storing version | u64 inode | u64 revision
//   inner:  u32 length of the item | u32 key length | last key below | u8 1 if that is a directory
//           | digest of the child | location of the child | u64 entries below
//   location: u32 segment | u64 offset | u32 length
//
// All accessors require items that ``validate(_:level:at:)`` has accepted.

enum MapItem {
  /// The greatest level: no keys are known whose hashes would need a higher one.
  static let maximumLevel = 41
  static let maximumCount = 256

  @inline(__always)
  static func key(
    _ bytes: UnsafeRawBufferPointer, _ level: Int, at start: Int
  ) -> UnsafeRawBufferPointer {
    let field = level == 0 ? start + 9 : start + 4
    return bytes.part(field + 4, Int(bytes.bigEndian(UInt32.self, at: field)))
  }

  @inline(__always)
  static func isDirectory(_ bytes: UnsafeRawBufferPointer, _ level: Int, at start: Int) -> Bool {
    if level == 0 { return bytes[start + 8] == EntryKind.directory.rawValue }
    return bytes[start + 8 + Int(bytes.bigEndian(UInt32.self, at: start + 4))] != 0
  }

  /// Compares the item's key with another: by bytes, then a directory after a value.
  @inline(__always)
  static func compare(
    _ bytes: UnsafeRawBufferPointer, _ level: Int, at start: Int,
    to key: UnsafeRawBufferPointer, _ directory: Bool
  ) -> Int {
    let order = Self.key(bytes, level, at: start).compare(to: key)
    if order != 0 { return order }
    return (isDirectory(bytes, level, at: start) ? 1 : 0) - (directory ? 1 : 0)
  }

  /// Returns the part of a leaf's item that digest 1 covers.
  @inline(__always)
  static func content(_ bytes: UnsafeRawBufferPointer, at start: Int) -> UnsafeRawBufferPointer {
    bytes.part(start + 8, Int(bytes.bigEndian(UInt32.self, at: start + 4)))
  }

  @inline(__always)
  static func valueDigest(
    _ bytes: UnsafeRawBufferPointer, at start: Int
  ) -> UnsafeRawBufferPointer {
    // It follows kind, key and length.
    bytes.part(start + 21 + Int(bytes.bigEndian(UInt32.self, at: start + 9)), 32)
  }

  /// Returns the version that stored a leaf's value, from the end of its item.
  @inline(__always)
  static func storedVersion(_ bytes: UnsafeRawBufferPointer, before end: Int) -> UInt32 {
    // Two numbers are after it.
    bytes.bigEndian(UInt32.self, at: end - 20)
  }

  @inline(__always)
  static func childDigest(
    _ bytes: UnsafeRawBufferPointer, at start: Int
  ) -> UnsafeRawBufferPointer {
    bytes.part(start + 9 + Int(bytes.bigEndian(UInt32.self, at: start + 4)), 32)
  }

  static func child(_ bytes: UnsafeRawBufferPointer, at start: Int) -> MapChild {
    let fixed = start + 9 + Int(bytes.bigEndian(UInt32.self, at: start + 4))
    return MapChild(
      location: Location(
        segment: bytes.bigEndian(UInt32.self, at: fixed + 32),
        offset: bytes.bigEndian(UInt64.self, at: fixed + 36),
        length: bytes.bigEndian(UInt32.self, at: fixed + 44)),
      digest: Digest(checked: bytes, at: fixed),
      count: bytes.bigEndian(UInt64.self, at: fixed + 48))
  }

  /// Returns the length and the place of a leaf's value, without the rest of its entry.
  static func place(
    _ bytes: UnsafeRawBufferPointer, at start: Int
  ) -> (content: Content, length: UInt64)? {
    let content = Self.content(bytes, at: start)
    let length = content.bigEndian(UInt64.self, at: 5 + Int(content.bigEndian(UInt32.self, at: 1)))
    let local = start + 8 + content.count
    guard bytes[local] == 2 || bytes[local] == 3 else { return (.none, length) }
    var reader = ByteReader(bytes.part(local + 1, 16))
    guard let location = reader.location() else { return nil }
    return (bytes[local] == 2 ? .chunk(location) : .tree(location), length)
  }

  static func entry(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Entry? {
    let itemLength = Int(bytes.bigEndian(UInt32.self, at: start))
    var content = ByteReader(Self.content(bytes, at: start))
    guard let rawKind = content.integer(UInt8.self), let kind = EntryKind(rawValue: rawKind),
      let keyLength = content.integer(UInt32.self), let key = content.take(Int(keyLength)),
      let length = content.integer(UInt64.self), let digest = content.digest(),
      let fields = content.take(content.remaining), let attributes = Attributes(decoding: fields)
    else { return nil }
    let localStart = 8 + content.bytes.count
    guard itemLength >= localStart else { return nil }
    var local = ByteReader(bytes.part(start + localStart, itemLength - localStart))
    let place: Content
    switch local.integer(UInt8.self) {
    case 0: place = .none
    case 1:
      guard let count = local.integer(UInt8.self), let inline = local.take(Int(count)) else {
        return nil
      }
      place = .inline(Array(inline))
    case 2:
      guard let location = local.location() else { return nil }
      place = .chunk(location)
    case 3:
      guard let location = local.location() else { return nil }
      place = .tree(location)
    default: return nil
    }
    guard let version = local.integer(UInt32.self), local.take(8) != nil,
      let revision = local.integer(UInt64.self), local.remaining == 0
    else { return nil }
    return Entry(
      key: Key(bytes: Array(key)), kind: kind, attributes: attributes,
      stored: StoredContent(length: length, digest: digest, content: place),
      storedVersion: VersionNumber(version), revision: revision)
  }

  /// Checks one item of a node and returns the offset of the next one; nil if it is damaged.
  static func validate(_ bytes: UnsafeRawBufferPointer, level: Int, at start: Int) -> Int? {
    guard bytes.count - start >= 8 else { return nil }
    let length = Int(bytes.bigEndian(UInt32.self, at: start))
    guard length <= bytes.count - start else { return nil }
    if level > 0 {
      let keyLength = Int(bytes.bigEndian(UInt32.self, at: start + 4))
      guard keyLength <= Entry.maximumKeyLength, length == 65 + keyLength,
        bytes[start + 8 + keyLength] <= 1,
        bytes.bigEndian(UInt64.self, at: start + 57 + keyLength) > 0
      else { return nil }
      return start + length
    }
    // 8 bytes for the item's lengths, 45 for an entry without key and fields, 21 for the smallest local part.
    let contentLength = Int(bytes.bigEndian(UInt32.self, at: start + 4))
    guard length >= 74, contentLength >= 45, contentLength <= length - 29,
      isEntry(
        content(bytes, at: start), bytes.part(start + 8 + contentLength, length - 8 - contentLength)
      )
    else { return nil }
    return start + length
  }

  /// Checks a leaf's item without making an entry of it, for each node read from the disk.
  private static func isEntry(
    _ content: UnsafeRawBufferPointer, _ local: UnsafeRawBufferPointer
  ) -> Bool {
    var content = ByteReader(content)
    guard let rawKind = content.integer(UInt8.self), let kind = EntryKind(rawValue: rawKind),
      let keyLength = content.integer(UInt32.self), keyLength <= Entry.maximumKeyLength,
      content.take(Int(keyLength)) != nil, let length = content.integer(UInt64.self),
      content.take(32) != nil, let fields = content.take(content.remaining),
      Attributes.isEncoding(fields), kind != .directory || length == 0
    else { return false }
    var local = ByteReader(local)
    switch local.integer(UInt8.self) {
    case 0: guard length == 0 || length > UInt64(Entry.inlineLimit) else { return false }
    case 1:
      guard let count = local.integer(UInt8.self), count > 0, count <= Entry.inlineLimit,
        length == UInt64(count), local.take(Int(count)) != nil
      else { return false }
    case 2, 3: guard length > 0, local.take(16) != nil else { return false }
    default: return false
    }
    return local.remaining == 20
  }

  /// Appends a leaf's item without its extended attributes if these are long; otherwise returns false.
  static func append(
    shortening bytes: UnsafeRawBufferPointer, at start: Int, to end: Int, _ short: inout [UInt8]
  ) -> Bool {
    let content = content(bytes, at: start)
    let fields = 45 + Int(content.bigEndian(UInt32.self, at: 1))
    guard
      let part = Attributes.extendedPart(of: content.part(fields, content.count - fields)),
      part.length > Entry.longAttributes
    else {
      short.append(contentsOf: bytes.part(start, end - start))
      return false
    }
    let kept = fields + part.offset
    let less = content.count - kept
    short.append(bigEndian: UInt32(end - start - less))
    short.append(bigEndian: UInt32(kept))
    short.append(contentsOf: content.part(0, kept))
    let local = start + 8 + content.count
    short.append(contentsOf: bytes.part(local, end - local))
    return true
  }

  static func encode(_ entry: Entry) -> [UInt8] {
    var bytes = ByteWriter()
    bytes.append(bigEndian: UInt64(0))
    entry.encodeContent(into: &bytes)
    bytes.replace(bigEndian: UInt32(bytes.count - 8), at: 4)
    switch entry.stored.content {
    case .none: bytes.append(0)
    case .inline(let inline):
      bytes.append(1)
      bytes.append(UInt8(inline.count))
      bytes.append(contentsOf: inline)
    case .chunk(let location): bytes.append(2, location)
    case .tree(let location): bytes.append(3, location)
    }
    bytes.append(bigEndian: entry.storedVersion.rawValue)
    bytes.append(bigEndian: UInt64(0))
    bytes.append(bigEndian: entry.revision)
    bytes.replace(bigEndian: UInt32(bytes.count), at: 0)
    return bytes.array
  }

  static func encode(
    _ child: MapChild, lastKey: UnsafeRawBufferPointer, directory: Bool
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(65 + lastKey.count)
    bytes.append(bigEndian: UInt32(65 + lastKey.count))
    bytes.append(bigEndian: UInt32(lastKey.count))
    bytes.append(contentsOf: lastKey)
    bytes.append(directory ? 1 : 0)
    bytes.append(child.digest)
    bytes.append(child.location)
    bytes.append(bigEndian: child.count)
    return bytes
  }
}

/// A node's description of a node below it.
struct MapChild: Hashable {
  var location: Location
  var digest: Digest
  var count: UInt64
}
