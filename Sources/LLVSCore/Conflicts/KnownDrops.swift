/// The unsettled drops of one head; the drops of its descendants are computed from them.
package struct KnownDrops: Hashable, Sendable {
  package let head: VersionNumber
  /// In ascending order of (key, version).
  package let drops: [UnsettledDrop]
}

extension KnownDrops {
  /// The form kept in the index; numbers are those of the store it belongs to.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: head.rawValue)
    bytes.append(bigEndian: UInt32(drops.count))
    for drop in drops {
      bytes.append(bigEndian: UInt32(drop.key.bytes.count))
      bytes.append(contentsOf: drop.key.bytes)
      bytes.append((drop.isRemoval ? 1 : 0) as UInt8)
      bytes.append((drop.side == .first ? 0 : 1) as UInt8)
      bytes.append(bigEndian: drop.version.rawValue)
      bytes.append(bigEndian: drop.merge.rawValue)
    }
    return bytes
  }

  init?(encoded: [UInt8]) {
    let known = encoded.parsed { reader -> KnownDrops? in
      guard let head = reader.integer(UInt32.self), let count = reader.integer(UInt32.self),
        Int(count) <= reader.remaining / 14
      else { return nil }
      var drops: [UnsettledDrop] = []
      drops.reserveCapacity(Int(count))
      for _ in 0..<count {
        guard let length = reader.integer(UInt32.self), length <= Entry.maximumKeyLength,
          let key = reader.take(Int(length)), let removal = reader.integer(UInt8.self),
          let side = reader.integer(UInt8.self), let version = reader.integer(UInt32.self),
          let merge = reader.integer(UInt32.self), version < merge, merge <= head
        else { return nil }
        drops.append(
          UnsettledDrop(
            key: Key(bytes: Array(key)), isRemoval: removal == 1,
            version: VersionNumber(version), merge: VersionNumber(merge),
            side: side == 0 ? .first : .second))
      }
      return KnownDrops(head: VersionNumber(head), drops: drops)
    }
    guard let known else { return nil }
    self = known
  }
}
