import LLVSCore

extension [UInt8] {
  mutating func append(bundled id: Version.ID) throws(StoreError) {
    if let fault = WireName.fault(of: id) { throw .invalid(fault) }
    if let words = id.uuidWords {
      append(0)
      append(bigEndian: words.high)
      append(bigEndian: words.low)
    } else {
      append(UInt8(id.rawValue.utf8.count))
      append(contentsOf: id.rawValue.utf8)
    }
  }

  /// Appends a version; `distance` returns how many places before it a predecessor is.
  mutating func append(
    bundled version: Version, distance: (Version.ID) -> Int?
  ) throws(StoreError) {
    let predecessors = version.predecessors?.ids ?? []
    append(UInt8(predecessors.count))
    for id in predecessors {
      if let distance = distance(id) {
        append(varint: UInt64(distance))
      } else {
        append(varint: 0)
        try append(bundled: id)
      }
    }
    append(bigEndian: version.timestamp.bitPattern)
    append(varint: version.valueDataSize.map { UInt64(Swift.max(0, $0)) + 1 } ?? 0)
    append(varint: UInt64(version.metadata.count))
    for (key, value) in version.metadata.sorted(by: { $0.key < $1.key }) {
      append(counted: Array(key.rawValue.utf8))
      append(counted: value.data)
    }
  }
}

extension Version.ID {
  /// The 16 bytes of an id that is an upper-case UUID; nil for another id.
  var uuidWords: (high: UInt64, low: UInt64)? {
    guard rawValue.utf8.count == 36 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    var position = 0
    for byte in rawValue.utf8 {
      defer { position += 1 }
      if [8, 13, 18, 23].contains(position) {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      let digit: UInt8
      switch byte {
      case 0x30...0x39: digit = byte - 0x30
      case 0x41...0x46: digit = byte - 0x41 + 10
      default: return nil
      }
      high = high << 4 | low >> 60
      low = low << 4 | UInt64(digit)
    }
    return (high, low)
  }
}

extension ByteReader {
  mutating func bundledID() -> Version.ID? {
    guard let tag = integer(UInt8.self) else { return nil }
    if tag == 0 {
      guard let high = integer(UInt64.self), let low = integer(UInt64.self) else { return nil }
      return .uuid(high, low)
    }
    guard tag <= WireName.maximumLength, let bytes = take(Int(tag)),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    let id = Version.ID(text)
    return WireName.fault(of: id) == nil && id.uuidWords == nil ? id : nil
  }
}
