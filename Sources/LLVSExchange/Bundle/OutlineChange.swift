import LLVSCore

/// A value in the outline of a bundle: its bytes, or what leads to them.
enum OutlineValue: Hashable, Sendable {
  case inline([UInt8])
  /// Bytes in an item of the same bundle, by its number.
  case item(Int, length: UInt64)
  /// Bytes that other bundles hold, such as the `need`th that the bundle needs; nil if unknown.
  case leftOut(Digest, length: UInt64, need: Int?)
  case forgotten(Digest, length: UInt64)
}

typealias OutlineChange = WireChange<OutlineValue>

extension OutlineStream {
  func change(in bundle: BundleDirectory) throws(StoreError) -> OutlineChange {
    guard let tag = BundleFormat.Tag(rawValue: try byte()) else {
      throw malformed("a change of no known kind")
    }
    let bytes = try counted(atMost: ExchangeLimits.keyLength, "a key")
    guard bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil else {
      throw malformed("a key is not UTF-8")
    }
    let key = Key(bytes: bytes)
    switch tag {
    case .insert: return .insert(key, try value(in: bundle))
    case .update: return .update(key, try value(in: bundle))
    case .remove: return .remove(key)
    case .preserve: return .preserve(key, try id())
    case .preserveRemoval: return .preserveRemoval(key)
    }
  }

  private func value(in bundle: BundleDirectory) throws(StoreError) -> OutlineValue {
    guard let form = BundleFormat.ValueForm(rawValue: try byte()) else {
      throw malformed("a value of no known form")
    }
    switch form {
    case .inline:
      // A symbolic link's target is at most 4,095 bytes (symlink(2)).
      return .inline(try counted(atMost: 4095, "a value in the outline"))
    case .item:
      let number = try varint()
      let length = try varint()
      guard number < UInt64(bundle.items) else { throw malformed("an item that is not there") }
      return .item(Int(number), length: length)
    case .leftOut:
      let digest = try digest()
      let length = try varint()
      let need = try varint()
      guard need <= UInt64(bundle.needs.count) else {
        throw malformed("a bundle that is needed and not named")
      }
      return .leftOut(digest, length: length, need: need == 0 ? nil : Int(need) - 1)
    case .forgotten: return .forgotten(try digest(), length: try varint())
    }
  }
}

extension [UInt8] {
  mutating func append(_ change: OutlineChange) throws(StoreError) {
    switch change {
    case .insert(let key, let value):
      try append(.insert, key)
      append(value)
    case .update(let key, let value):
      try append(.update, key)
      append(value)
    case .remove(let key): try append(.remove, key)
    case .preserve(let key, let id):
      try append(.preserve, key)
      try append(bundled: id)
    case .preserveRemoval(let key): try append(.preserveRemoval, key)
    }
  }

  private mutating func append(_ tag: BundleFormat.Tag, _ key: Key) throws(StoreError) {
    // The original's format cannot hold other keys, and all formats carry the same versions.
    guard key.bytes.count <= ExchangeLimits.keyLength else {
      throw .invalid("a key of more than \(ExchangeLimits.keyLength) bytes cannot be exchanged")
    }
    guard
      key.bytes.allSatisfy({ $0 < 0x80 }) || String(validating: key.bytes, as: UTF8.self) != nil
    else { throw .invalid("a key that is not UTF-8 cannot be exchanged") }
    append(tag.rawValue)
    append(counted: key.bytes)
  }

  private mutating func append(_ value: OutlineValue) {
    switch value {
    case .inline(let bytes):
      append(BundleFormat.ValueForm.inline.rawValue)
      append(counted: bytes)
    case .item(let number, let length):
      append(BundleFormat.ValueForm.item.rawValue)
      append(varint: UInt64(number))
      append(varint: length)
    case .leftOut(let digest, let length, let need):
      append(BundleFormat.ValueForm.leftOut.rawValue)
      append(digest)
      append(varint: length)
      append(varint: need.map { UInt64($0) + 1 } ?? 0)
    case .forgotten(let digest, let length):
      append(BundleFormat.ValueForm.forgotten.rawValue)
      append(digest)
      append(varint: length)
    }
  }
}
