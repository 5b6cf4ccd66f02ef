internal import Synchronization

/// A node of a map: its bytes and the offset of each item; checked once, then read in place.
///
/// Bytes: u8 format (1) | u8 level (0 leaf) | u16 items (1 to 256) | items in ascending order of key.
/// - Concurrency: immutable.
final class MapNode: Sendable {
  static let headerLength = 4
  static let format: UInt8 = 1
  /// The number of items that are compared at once when they are likely equal.
  private static let itemsAtOnce = 16
  /// The greatest number of replaced items that are remembered; a node may have 256.
  private static let mostReplaced = 32
  /// The length of 256 entries with long keys, without long attributes.
  private static let longLength = 1 << 17
  let bytes: [UInt8]
  /// The offset of each item, and at last the length of the node.
  let starts: [UInt32]
  let level: Int
  /// The digest of each entry of a leaf that was built here; empty if not computed. The next leaf reuses most of
  /// them, because hashing is most of the cost of its digest.
  let entryDigests: [Digest]
  /// The items without their extended attributes, in nodes of ``shortened``, for reading only.
  private let shortItems: Set<Int>
  /// The node in memory that this one was made from by replacing items, and the replaced items. All other items of
  /// nodes with the same origin are equal without a comparison.
  private let origin: UInt64
  private let replaced: [UInt8]

  var count: Int { starts.count - 1 }

  init(
    trusted bytes: [UInt8], starts: [UInt32], level: Int, entryDigests: [Digest],
    shortItems: Set<Int> = []
  ) {
    self.shortItems = shortItems
    origin = Self.nextOrigin()
    replaced = []
    self.bytes = bytes
    self.starts = starts
    self.level = level
    self.entryDigests = entryDigests
  }

  /// Copies a node with one item replaced by another with the same key.
  private init(
    _ bytes: [UInt8], starts: [UInt32], of old: MapNode, at index: Int, entryDigests: [Digest]
  ) {
    shortItems = []
    self.bytes = bytes
    self.starts = starts
    self.level = old.level
    self.entryDigests = entryDigests
    let index = UInt8(truncatingIfNeeded: index)
    if old.replaced.contains(index) {
      (origin, replaced) = (old.origin, old.replaced)
    } else if old.replaced.count < Self.mostReplaced {
      (origin, replaced) = (old.origin, old.replaced + [index])
    } else {
      (origin, replaced) = (Self.nextOrigin(), [])
    }
  }

  private static let origins = Atomic<UInt64>(0)

  private static func nextOrigin() -> UInt64 { origins.add(1, ordering: .relaxed).newValue }

  /// Checks bytes from outside; nil if they are no node.
  init?(checking bytes: [UInt8]) {
    guard
      let (level, starts) = bytes.withUnsafeBytes({ raw -> (Int, [UInt32])? in
        guard raw.count > Self.headerLength, raw.count <= Int(UInt32.max), raw[0] == Self.format
        else { return nil }
        let level = Int(raw[1])
        let count = Int(raw.bigEndian(UInt16.self, at: 2))
        guard level <= MapItem.maximumLevel, count >= 1, count <= MapItem.maximumCount else {
          return nil
        }
        var starts: [UInt32] = []
        starts.reserveCapacity(count + 1)
        var start = Self.headerLength
        for index in 0..<count {
          guard let next = MapItem.validate(raw, level: level, at: start) else { return nil }
          if index > 0 {
            let key = MapItem.key(raw, level, at: start)
            let directory = MapItem.isDirectory(raw, level, at: start)
            let last = Int(starts[index - 1])
            guard MapItem.compare(raw, level, at: last, to: key, directory) < 0 else { return nil }
          }
          starts.append(UInt32(start))
          start = next
        }
        guard start == raw.count else { return nil }
        starts.append(UInt32(start))
        return (level, starts)
      })
    else { return nil }
    self.bytes = bytes
    self.starts = starts
    self.level = level
    entryDigests = []
    shortItems = []
    origin = Self.nextOrigin()
    replaced = []
  }

  /// The leaf without its long extended attributes; nil if it is not long or has none.
  var shortened: MapNode? {
    guard level == 0, bytes.count >= Self.longLength else { return nil }
    var short: [UInt8] = []
    var offsets: [UInt32] = []
    var items: Set<Int> = []
    bytes.withUnsafeBytes { raw in
      short.append(contentsOf: raw.part(0, Self.headerLength))
      for index in 0..<count {
        offsets.append(UInt32(short.count))
        let (start, end) = (Int(starts[index]), Int(starts[index + 1]))
        if MapItem.append(shortening: raw, at: start, to: end, &short) { items.insert(index) }
      }
    }
    offsets.append(UInt32(short.count))
    guard !items.isEmpty else { return nil }
    return MapNode(
      trusted: short, starts: offsets, level: 0, entryDigests: [], shortItems: items)
  }

  func replacing(_ index: Int, by item: [UInt8]) -> MapNode {
    let (from, to) = (Int(starts[index]), Int(starts[index + 1]))
    var node: [UInt8] = []
    node.reserveCapacity(bytes.count - (to - from) + item.count)
    bytes.withUnsafeBytes { raw in
      node.append(contentsOf: raw.part(0, from))
      node.append(contentsOf: item)
      node.append(contentsOf: raw.part(to, raw.count - to))
    }
    var offsets = starts
    if item.count != to - from {
      // Wraps around if the new item is shorter.
      let shift = UInt32(truncatingIfNeeded: item.count - (to - from))
      for later in index + 1...count { offsets[later] &+= shift }
    }
    var digests: [Digest] = []
    if level == 0 {
      digests = entryDigests.count == count ? entryDigests : (0..<count).map(entryDigest)
      digests[index] = item.withUnsafeBytes { Digest.of(MapItem.content($0, at: 0)) }
    }
    return MapNode(node, starts: offsets, of: self, at: index, entryDigests: digests)
  }

  /// The first item that is not before a key, or ``count``, and whether it has this key.
  func find(_ key: UnsafeRawBufferPointer, _ directory: Bool) -> (index: Int, isThere: Bool) {
    bytes.withUnsafeBytes { raw in
      var low = 0
      var high = count
      while low < high {
        let middle = (low + high) / 2
        let order = MapItem.compare(raw, level, at: Int(starts[middle]), to: key, directory)
        // No two items have the same key.
        if order == 0 { return (middle, true) }
        if order < 0 { low = middle + 1 } else { high = middle }
      }
      return (low, false)
    }
  }

  func compare(_ index: Int, to key: UnsafeRawBufferPointer, _ directory: Bool) -> Int {
    bytes.withUnsafeBytes { MapItem.compare($0, level, at: Int(starts[index]), to: key, directory) }
  }

  /// Returns the first item that is not before a key; ``count`` if there is none.
  func search(_ key: [UInt8], _ directory: Bool) -> Int {
    key.withUnsafeBytes { find($0, directory).index }
  }

  func compare(_ index: Int, to key: [UInt8], _ directory: Bool) -> Int {
    key.withUnsafeBytes { compare(index, to: $0, directory) }
  }

  func compare(_ index: Int, to other: MapNode, _ otherIndex: Int) -> Int {
    other.bytes.withUnsafeBytes { raw in
      let start = Int(other.starts[otherIndex])
      return compare(
        index, to: MapItem.key(raw, other.level, at: start),
        MapItem.isDirectory(raw, other.level, at: start))
    }
  }

  @inline(__always)
  func withKey<R>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    bytes.withUnsafeBytes { body(MapItem.key($0, level, at: Int(starts[index]))) }
  }

  @inline(__always)
  func withItem<R>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    bytes.withUnsafeBytes {
      let start = Int(starts[index])
      return body($0.part(start, Int(starts[index + 1]) - start))
    }
  }

  func key(_ index: Int) -> [UInt8] { withKey(index) { Array($0) } }

  func isDirectory(_ index: Int) -> Bool {
    bytes.withUnsafeBytes { MapItem.isDirectory($0, level, at: Int(starts[index])) }
  }

  func child(_ index: Int) -> MapChild {
    bytes.withUnsafeBytes { MapItem.child($0, at: Int(starts[index])) }
  }

  /// Returns a leaf's entry; never nil in a node that was checked or built here.
  func entry(_ index: Int) -> Entry? {
    let entry = bytes.withUnsafeBytes { MapItem.entry($0, at: Int(starts[index])) }
    return shortItems.contains(index) ? entry?.markedShortened : entry
  }

  /// Returns the length and the place of a leaf's value; nil only if a location has an impossible value.
  func place(_ index: Int) -> (content: Content, length: UInt64)? {
    bytes.withUnsafeBytes { MapItem.place($0, at: Int(starts[index])) }
  }

  func kind(_ index: Int) -> EntryKind? { EntryKind(rawValue: bytes[Int(starts[index]) + 8]) }

  /// The number of items from here on that are equal byte for byte in both nodes: perhaps too small, but 0 only if
  /// the first two differ.
  func equalItems(from index: Int, as other: MapNode, from otherIndex: Int) -> Int {
    let limit = min(count - index, other.count - otherIndex)
    if origin == other.origin, index == otherIndex {
      var next = index + limit
      for item in replaced where index <= item && item < next { next = Int(item) }
      for item in other.replaced where index <= item && item < next { next = Int(item) }
      if next > index { return next - index }
    }
    return bytes.withUnsafeBytes { a in
      other.bytes.withUnsafeBytes { b in
        var start = Int(starts[index])
        var otherStart = Int(other.starts[otherIndex])
        var equal = 0
        // An item begins with its length, so several can be compared at once as bytes.
        while equal + Self.itemsAtOnce <= limit {
          let next = equal + Self.itemsAtOnce
          let length = Int(starts[index + next]) - start
          guard length == Int(other.starts[otherIndex + next]) - otherStart,
            a.part(start, length).isEqual(to: b.part(otherStart, length))
          else { break }
          equal = next
          start += length
          otherStart += length
        }
        while equal < limit {
          let end = Int(starts[index + equal + 1])
          let otherEnd = Int(other.starts[otherIndex + equal + 1])
          guard end - start == otherEnd - otherStart,
            a.part(start, end - start).isEqual(to: b.part(otherStart, end - start))
          else { break }
          equal += 1
          start = end
          otherStart = otherEnd
        }
        return equal
      }
    }
  }

  /// Returns true if items of two leaves have the same content for digest 1.
  func hasSameContent(_ index: Int, as other: MapNode, _ otherIndex: Int) -> Bool {
    bytes.withUnsafeBytes { a in
      other.bytes.withUnsafeBytes { b in
        MapItem.content(a, at: Int(starts[index]))
          .compare(to: MapItem.content(b, at: Int(other.starts[otherIndex]))) == 0
      }
    }
  }

  /// Returns true if two items have the same bytes of a value, stored by the same version.
  func hasSameBytes(_ index: Int, as other: MapNode, _ otherIndex: Int) -> Bool {
    bytes.withUnsafeBytes { a in
      other.bytes.withUnsafeBytes { b in
        let (end, otherEnd) = (Int(starts[index + 1]), Int(other.starts[otherIndex + 1]))
        return MapItem.storedVersion(a, before: end) == MapItem.storedVersion(b, before: otherEnd)
          && MapItem.valueDigest(a, at: Int(starts[index]))
            .isEqual(to: MapItem.valueDigest(b, at: Int(other.starts[otherIndex])))
      }
    }
  }

  /// True if a run ends with this node, by the hash of its last key.
  var endsRun: Bool { withKey(count - 1) { KeyHash($0).endsRun(atLevel: level) } }

  /// The number of entries in or below the node.
  var entryCount: UInt64 {
    guard level > 0 else { return UInt64(count) }
    return bytes.withUnsafeBytes { raw in
      var sum: UInt64 = 0
      // It is the last field of each item.
      for end in starts.dropFirst() { sum &+= raw.bigEndian(UInt64.self, at: Int(end) - 8) }
      return sum
    }
  }

  /// The node's digest by digest 1, computed from the bytes.
  var digest: Digest { digest(entries: []) }

  /// The node's digest by digest 1, from the known digests of its entries.
  var builtDigest: Digest { digest(entries: entryDigests) }

  private func digest(entries: [Digest]) -> Digest {
    bytes.withUnsafeBytes { raw in
      var hasher = Self.hasher(level: level, count: count)
      // All children's digests side by side, so that the hasher is called once.
      withUnsafeTemporaryAllocation(byteCount: 32 * count, alignment: 8) { children in
        for index in 0..<count {
          let start = Int(starts[index])
          let place = UnsafeMutableRawBufferPointer(
            rebasing: children[(32 * index)..<(32 * index + 32)])
          if level > 0 {
            place.copyMemory(from: MapItem.childDigest(raw, at: start))
          } else if index < entries.count {
            entries[index].store(to: place)
          } else {
            Digest.of(MapItem.content(raw, at: start)).store(to: place)
          }
        }
        hasher.update(UnsafeRawBufferPointer(children))
      }
      return hasher.finish()
    }
  }

  func entryDigest(_ index: Int) -> Digest {
    if index < entryDigests.count { return entryDigests[index] }
    return bytes.withUnsafeBytes { Digest.of(MapItem.content($0, at: Int(starts[index]))) }
  }

  static func hasher(level: Int, count: Int) -> SHA256Hasher {
    var hasher = SHA256Hasher()
    hasher.update(Array("llvs map node 1".utf8))
    hasher.update(UInt8(level))
    hasher.update(bigEndian: UInt32(count))
    return hasher
  }

  static let emptyDigest = hasher(level: 0, count: 0).finish()
}
