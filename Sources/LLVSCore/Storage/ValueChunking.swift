/// Digest 1's cutting of long values, which must never change (docs/formats.md, "Value digests").
package enum ValueChunking {
  /// The longest value of one chunk, in bytes; longer values are cut.
  package static let singleChunk = 65_536
  static let zeroRun = 65_536
  static let minimum = 16_384
  static let normal = 65_536
  package static let maximum = 262_144

  /// G[i]: the first 8 bytes of SHA-256("llvs gear 1" || byte i).
  static let gear: [UInt64] = (0..<256).map { index in
    Digest.of(Array("llvs gear 1".utf8) + [UInt8(index)]).words.0
  }

  /// The length of the first chunk of bytes that end where the data ends or past ``maximum``.
  static func cut(_ bytes: UnsafeRawBufferPointer) -> Int {
    let end = min(bytes.count, maximum)
    guard end > minimum else { return end }
    return gear.withUnsafeBufferPointer { gear in
      var hash: UInt64 = 0
      var index = minimum
      // The chunk's length is index + 1 when it ends after the byte at index.
      let middle = min(end, normal - 1)
      while index < middle {
        hash = hash << 1 &+ gear[Int(bytes[index])]
        if hash >> 46 == 0 { return index + 1 }
        index += 1
      }
      while index < end {
        hash = hash << 1 &+ gear[Int(bytes[index])]
        if hash >> 50 == 0 { return index + 1 }
        index += 1
      }
      return end
    }
  }

  package static func leadingZeros(_ bytes: UnsafeRawBufferPointer) -> Int {
    var index = 0
    while index + 8 <= bytes.count,
      bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) == 0
    {
      index += 8
    }
    while index < bytes.count, bytes[index] == 0 { index += 1 }
    return index
  }

  static func trailingZeros(_ bytes: UnsafeRawBufferPointer) -> Int {
    var index = bytes.count
    while index >= 8,
      bytes.loadUnaligned(fromByteOffset: index - 8, as: UInt64.self) == 0
    {
      index -= 8
    }
    while index > 0, bytes[index - 1] == 0 { index -= 1 }
    return bytes.count - index
  }
}
