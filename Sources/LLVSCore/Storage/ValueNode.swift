internal import Platform

/// A node of the tree of a long value: its items and their offsets.
///
/// On disk, big-endian: level(u8) count(u16), then for each item tag(u8) length(u64) and, unless it is zeros,
/// digest(32) location(16). A node with a known number of zeros has tag 3, and zeros(u64) at its end.
final class ValueNode: Sendable {
  enum Kind: UInt8 {
    case chunk = 0
    case zeros = 1
    case node = 2
  }

  struct Item: Hashable {
    var kind: Kind
    var length: UInt64
    /// The digest of the bytes or the node; nil for zeros.
    var digest: Digest?
    var location: Location?
    /// The number of a node's bytes that are zeros and take no space; nil if not recorded, as in segments before
    /// format 3. The digest does not cover it.
    var zerosBelow: UInt64?

    /// The zero bytes that take no space, if known without reading the node below.
    var zeros: UInt64? {
      switch kind {
      case .chunk: 0
      case .zeros: length
      case .node: zerosBelow
      }
    }
  }

  private static let nodeWithZeros: UInt8 = 3
  static let shortest = 16
  static let longest = 256
  let level: UInt8
  let items: [Item]
  /// The offset of each item in the node, then the node's length.
  let starts: [UInt64]

  var length: UInt64 { starts[items.count] }

  init?(level: UInt8, items: [Item]) {
    var starts: [UInt64] = [0]
    starts.reserveCapacity(items.count + 1)
    var end: UInt64 = 0
    for item in items {
      let (sum, overflow) = end.addingReportingOverflow(item.length)
      guard !overflow, item.length > 0 else { return nil }
      end = sum
      starts.append(end)
    }
    self.level = level
    self.items = items
    self.starts = starts
  }

  convenience init?(bytes: [UInt8]) {
    let parsed = bytes.parsed { reader -> (UInt8, [Item])? in
      guard let level = reader.integer(UInt8.self), level < 16,
        let count = reader.integer(UInt16.self), count > 0, count <= ValueNode.longest
      else { return nil }
      var items: [Item] = []
      items.reserveCapacity(Int(count))
      for _ in 0..<count {
        guard let tag = reader.integer(UInt8.self),
          let kind = tag == ValueNode.nodeWithZeros ? .node : Kind(rawValue: tag),
          let length = reader.integer(UInt64.self)
        else { return nil }
        if kind == .zeros {
          items.append(Item(kind: kind, length: length, digest: nil, location: nil))
          continue
        }
        guard (kind == .node) == (level > 0), let digest = reader.digest(),
          let location = reader.location(),
          kind == .node || length <= UInt64(ValueChunking.maximum)
        else { return nil }
        var item = Item(kind: kind, length: length, digest: digest, location: location)
        if tag == ValueNode.nodeWithZeros {
          guard let zeros = reader.integer(UInt64.self), zeros <= length else { return nil }
          item.zerosBelow = zeros
        }
        items.append(item)
      }
      return (level, items)
    }
    guard let parsed else { return nil }
    self.init(level: parsed.0, items: parsed.1)
  }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = [level]
    bytes.reserveCapacity(3 + items.count * 65)
    bytes.append(bigEndian: UInt16(items.count))
    for item in items {
      bytes.append(item.zerosBelow == nil ? item.kind.rawValue : ValueNode.nodeWithZeros)
      bytes.append(bigEndian: item.length)
      if let digest = item.digest, let location = item.location {
        bytes.append(digest)
        bytes.append(location)
      }
      if let zeros = item.zerosBelow { bytes.append(bigEndian: zeros) }
    }
    return bytes
  }

  /// The node as it is hashed and as bundles contain it: its level and its items, without places.
  var form: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(1 + items.count * 41)
    bytes.append(level)
    for item in items {
      bytes.append(item.kind.rawValue)
      bytes.append(bigEndian: item.length)
      if let digest = item.digest { bytes.append(digest) }
    }
    return bytes
  }

  var digest: Digest { Digest.of(Array("llvs value node 1".utf8) + form) }

  func index(of offset: UInt64) -> Int {
    max(1, starts[..<items.count].partitioningIndex { $0 > offset }) - 1
  }

  /// The zero bytes that take no space; nil if unknown for an item.
  var zeros: UInt64? {
    var sum: UInt64 = 0
    for item in items {
      guard let zeros = item.zeros else { return nil }
      sum += zeros
    }
    return sum
  }

  /// The node's memory in a cache, in bytes.
  var cost: Int { 128 + items.count * (MemoryLayout<Item>.stride + 8) }

  static func ends(after item: Item, count: Int) -> Bool {
    if count >= longest { return true }
    guard count >= shortest, let digest = item.digest else { return false }
    return digest.words.3 & 0x3F == 0
  }
}

extension Digest {
  /// Returns the digest of a whole value of more than 65,536 bytes.
  package static func ofValue(length: UInt64, top: Digest) -> Digest {
    var hasher = SHA256Hasher()
    hasher.update(Array("llvs value 1".utf8))
    hasher.update(bigEndian: length)
    hasher.update(top)
    return hasher.finish()
  }
}
