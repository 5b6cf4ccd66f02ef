/// A change in a version's recorded change list; the bytes are in the version's own map.
package enum RecordedChange: Hashable, Sendable {
  case insert(Key)
  case update(Key)
  case remove(Key)
  case preserve(Key, storedVersion: Version.ID)
  case preserveRemoval(Key)

  package var key: Key {
    switch self {
    case .insert(let key), .update(let key), .remove(let key), .preserve(let key, _),
      .preserveRemoval(let key):
      key
    }
  }
}

/// The stored form of a change list: tag(u8), key length(u32), key; for `preserve` length and id of the version.
package enum ChangeList {
  package static func encode(_ changes: [RecordedChange]) -> [UInt8] {
    var bytes: [UInt8] = []
    for change in changes {
      switch change {
      case .insert: bytes.append(0 as UInt8)
      case .update: bytes.append(1 as UInt8)
      case .remove: bytes.append(2 as UInt8)
      case .preserve: bytes.append(3 as UInt8)
      case .preserveRemoval: bytes.append(4 as UInt8)
      }
      bytes.append(bigEndian: UInt32(change.key.bytes.count))
      bytes += change.key.bytes
      if case .preserve(_, let version) = change {
        let id = Array(version.rawValue.utf8)
        bytes.append(bigEndian: UInt32(id.count))
        bytes += id
      }
    }
    return bytes
  }

  package static func decode(_ bytes: [UInt8]) -> [RecordedChange]? {
    bytes.parsed { reader in
      var changes: [RecordedChange] = []
      while !reader.isAtEnd {
        guard let tag = reader.integer(UInt8.self), let count = reader.integer(UInt32.self),
          let raw = reader.bytes(Int(count))
        else { return nil }
        let key = Key(bytes: raw)
        switch tag {
        case 0: changes.append(.insert(key))
        case 1: changes.append(.update(key))
        case 2: changes.append(.remove(key))
        case 3:
          guard let length = reader.integer(UInt32.self), let id = reader.bytes(Int(length)) else {
            return nil
          }
          let version = Version.ID(String(decoding: id, as: UTF8.self))
          changes.append(.preserve(key, storedVersion: version))
        case 4: changes.append(.preserveRemoval(key))
        default: return nil
        }
      }
      return changes
    }
  }
}
