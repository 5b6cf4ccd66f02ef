/// Bytes in a buffer that grows and that can be used again. An integer is one store, where an array calls into the
/// standard library for each.
///
/// Inlinable, as the appends of `BigEndian.swift`.
@usableFromInline package struct ByteWriter: ~Copyable {
  /// nil before the first byte.
  @usableFromInline var start: UnsafeMutableRawPointer?
  @usableFromInline var capacity = 0
  @usableFromInline package private(set) var count = 0

  package init() {}
  deinit { start?.deallocate() }

  @inlinable package var isEmpty: Bool { count == 0 }
  package var array: [UInt8] { withBytes { Array($0) } }

  @inlinable
  package func withBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: start, count: count))
  }

  @inlinable
  package mutating func withMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) -> R) -> R {
    body(UnsafeMutableRawBufferPointer(start: start, count: count))
  }

  /// Returns the place of `more` bytes, which the caller sets, behind the others.
  @inlinable @inline(__always)
  mutating func take(_ more: Int) -> UnsafeMutableRawPointer {
    if more > capacity - count { grow(by: more) }
    defer { count += more }
    // `grow` has made it.
    return start.unsafelyUnwrapped + count
  }

  @usableFromInline @inline(never)
  mutating func grow(by more: Int) {
    capacity = max(count + more, 2 * capacity, 256)
    let new = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    if let start {
      new.copyMemory(from: start, byteCount: count)
      start.deallocate()
    }
    start = new
  }

  @inlinable @inline(__always)
  package mutating func append<T: FixedWidthInteger & BitwiseCopyable>(bigEndian value: T) {
    take(MemoryLayout<T>.size).storeBytes(of: value.bigEndian, as: T.self)
  }

  @inlinable @inline(__always)
  package mutating func append(_ byte: UInt8) { append(bigEndian: byte) }

  @inlinable
  package mutating func append(contentsOf more: UnsafeRawBufferPointer) {
    guard let first = more.baseAddress, !more.isEmpty else { return }
    take(more.count).copyMemory(from: first, byteCount: more.count)
  }

  @inlinable
  package mutating func append(contentsOf more: [UInt8]) {
    more.withUnsafeBytes { append(contentsOf: $0) }
  }

  package mutating func append(contentsOf more: borrowing ByteWriter) {
    more.withBytes { append(contentsOf: $0) }
  }

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

  package mutating func append(_ digest: Digest) {
    append(bigEndian: digest.words.0)
    append(bigEndian: digest.words.1)
    append(bigEndian: digest.words.2)
    append(bigEndian: digest.words.3)
  }

  /// Appends a tag and a location: u32 segment, u64 offset, u32 length.
  package mutating func append(_ tag: UInt8, _ location: Location) {
    append(tag)
    append(bigEndian: location.segment)
    append(bigEndian: location.offset)
    append(bigEndian: location.length)
  }

  /// Replaces an integer at an offset where one was appended.
  @inlinable
  package mutating func replace<T: FixedWidthInteger & BitwiseCopyable>(
    bigEndian value: T, at offset: Int
  ) {
    precondition(offset >= 0 && offset + MemoryLayout<T>.size <= count, "a place of the bytes")
    start.unsafelyUnwrapped.storeBytes(of: value.bigEndian, toByteOffset: offset, as: T.self)
  }

  /// Removes the bytes from an offset on.
  @inlinable
  package mutating func truncate(to offset: Int) {
    precondition(offset >= 0 && offset <= count, "a place of the bytes")
    count = offset
  }

  /// Removes all bytes, and keeps a buffer of at most `limit` bytes.
  package mutating func removeAll(keepingCapacity limit: Int) {
    count = 0
    guard capacity > limit else { return }
    start?.deallocate()
    (start, capacity) = (nil, 0)
  }
}
