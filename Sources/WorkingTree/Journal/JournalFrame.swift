import LLVSCore

/// The frame of a record: u64 checksum, u32 length; then the record, which begins with its tag.
///
/// The checksum is XXH3-64 of length and record, under the file's seed, so that bytes of another file are never
/// taken for a record. For a record with bytes of a file it covers length, tag and the bytes' own checksum, so that
/// damaged bytes do not end the journal.
package enum JournalFrame {
  static let headerSize = 12
  static let limit = 1 << 30
  /// The tag of a record with bytes of a file: u64 XXH3-64 of them, and the bytes.
  static let bytesTag: UInt8 = 16
  /// The size of the frame, the tag and the bytes' checksum.
  static let bytesHeaderSize = headerSize + 9

  /// Appends a frame with the bytes that `record` appends; ``seal(_:seed:)`` completes it.
  @inline(__always)
  static func append(to bytes: inout ByteWriter, _ record: (inout ByteWriter) -> Void) {
    let start = bytes.count
    bytes.append(bigEndian: UInt64(0))
    bytes.append(bigEndian: UInt32(0))
    record(&bytes)
    let length = UInt32(truncatingIfNeeded: bytes.count - start - headerSize)
    bytes.replace(bigEndian: length, at: start + 8)
  }

  /// Sets the checksums of all frames in some bytes, which must be whole.
  static func seal(_ frames: inout ByteWriter, seed: UInt64) {
    frames.withMutableBytes { raw in
      let bytes = UnsafeRawBufferPointer(raw)
      var start = 0
      while start < raw.count {
        let end = start + headerSize + Int(bytes.bigEndian(UInt32.self, at: start + 8))
        let sum = sum(of: bytes, at: start, end: end, seed: seed)
        raw.storeBytes(of: sum.bigEndian, toByteOffset: start, as: UInt64.self)
        start = end
      }
    }
  }

  private static func sum(
    of bytes: UnsafeRawBufferPointer, at start: Int, end: Int, seed: UInt64
  ) -> UInt64 {
    let covered = bytes[start + headerSize] == bytesTag ? start + bytesHeaderSize : end
    return Checksum.of(
      UnsafeRawBufferPointer(rebasing: bytes[(start + 8)..<min(covered, end)]), seed: seed)
  }

  enum Found {
    /// A record, without its frame.
    case record(Range<Int>)
    /// A record that ends behind the bytes.
    case more(Int)
    case none
  }

  static func look(in bytes: UnsafeRawBufferPointer, at start: Int, seed: UInt64) -> Found {
    guard bytes.count - start >= headerSize else { return .none }
    let length = Int(bytes.bigEndian(UInt32.self, at: start + 8))
    let end = start + headerSize + length
    guard length > 0, length <= limit else { return .none }
    let isHeaderThere = bytes.count - start >= bytesHeaderSize
    let carriesBytes =
      isHeaderThere && length >= 9 && bytes[start + headerSize] == bytesTag
      && sum(of: bytes, at: start, end: end, seed: seed) == bytes.bigEndian(UInt64.self, at: start)
    guard bytes.count >= end else { return .more(end) }
    if !carriesBytes {
      guard bytes[start + headerSize] != bytesTag,
        sum(of: bytes, at: start, end: end, seed: seed) == bytes.bigEndian(UInt64.self, at: start)
      else { return .none }
    }
    return .record((start + headerSize)..<end)
  }
}
