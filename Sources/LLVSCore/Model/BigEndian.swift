// Appends and reads integers of the project's formats, which are big-endian. Inlinable, because other modules would
// otherwise call generic code for each integer.

extension [UInt8] {
  @inlinable @inline(__always)
  package mutating func append(bigEndian value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  package mutating func append(_ digest: Digest) {
    append(bigEndian: digest.words.0)
    append(bigEndian: digest.words.1)
    append(bigEndian: digest.words.2)
    append(bigEndian: digest.words.3)
  }
}

extension UnsafeRawBufferPointer {
  /// Returns the integer at an offset that the caller has checked.
  @inlinable @inline(__always)
  package func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int)
    -> T
  {
    T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// Compares two runs of bytes as memcmp(3) does: the result is below, at or above zero.
  @inlinable @inline(__always)
  package func compare(to other: UnsafeRawBufferPointer) -> Int {
    let common = Swift.min(count, other.count)
    var offset = 0
    while offset + 8 <= common {
      let a = bigEndian(UInt64.self, at: offset)
      let b = other.bigEndian(UInt64.self, at: offset)
      if a != b { return a < b ? -1 : 1 }
      offset += 8
    }
    while offset < common {
      let a = self[offset]
      let b = other[offset]
      if a != b { return a < b ? -1 : 1 }
      offset += 1
    }
    return count - other.count
  }

  /// Returns true if both are the same bytes; faster than ``compare(to:)`` for long runs.
  @inlinable @inline(__always)
  package func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    var offset = 0
    while offset + 32 <= count {
      var difference: UInt64 = 0
      for word in 0..<4 {
        let at = offset + 8 * word
        difference |=
          loadUnaligned(fromByteOffset: at, as: UInt64.self)
          ^ other.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      }
      guard difference == 0 else { return false }
      offset += 32
    }
    while offset < count {
      guard self[offset] == other[offset] else { return false }
      offset += 1
    }
    return true
  }

  /// Returns a part; the caller has checked that it lies within.
  @inlinable @inline(__always)
  package func part(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<(offset + count)])
  }
}

/// Reads fields one after the other; each call returns nil if the bytes end too early.
@usableFromInline package struct ByteReader {
  @usableFromInline let bytes: UnsafeRawBufferPointer
  @usableFromInline private(set) var offset = 0
  /// The format version of the bytes, for code that reads several.
  package var format: UInt32 = 0

  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  @inlinable package var remaining: Int { bytes.count - offset }

  @inlinable @inline(__always)
  package mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) -> T? {
    guard remaining >= MemoryLayout<T>.size else { return nil }
    defer { offset += MemoryLayout<T>.size }
    return bytes.bigEndian(type, at: offset)
  }

  /// Reads `count` bytes; the result points into the reader's bytes.
  @inlinable @inline(__always)
  package mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, count <= remaining else { return nil }
    defer { offset += count }
    return bytes.part(offset, count)
  }

  package mutating func digest() -> Digest? {
    guard let digest = Digest(loading: bytes, at: offset) else { return nil }
    offset += 32
    return digest
  }

  /// Reads a location: u32 segment, u64 offset, u32 length.
  package mutating func location() -> Location? {
    guard let segment = integer(UInt32.self), let start = integer(UInt64.self),
      let length = integer(UInt32.self)
    else { return nil }
    return Location(segment: segment, offset: start, length: length)
  }
}
