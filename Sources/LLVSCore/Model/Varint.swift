extension [UInt8] {
  /// Appends an unsigned number in the fewest bytes: seven bits each, the lowest first (LEB128).
  @inlinable
  package mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  @inlinable
  package mutating func append(counted bytes: [UInt8]) {
    append(varint: UInt64(bytes.count))
    append(contentsOf: bytes)
  }
}

extension ByteReader {
  /// Reads a number in LEB128; nil if it is cut off, longer than necessary or over 63 bits.
  @inlinable
  package mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = integer(UInt8.self) {
      value |= UInt64(byte & 0x7F) << shift
      guard byte & 0x80 != 0 else { return byte == 0 && shift > 0 ? nil : value }
      shift += 7
      guard shift < 63 else { return nil }
    }
    return nil
  }

  /// Reads a length and that number of bytes; nil if the length is greater than `bound`.
  @inlinable
  package mutating func counted(atMost bound: Int) -> UnsafeRawBufferPointer? {
    guard let count = varint(), count <= UInt64(bound) else { return nil }
    return take(Int(count))
  }
}
