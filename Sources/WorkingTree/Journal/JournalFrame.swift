import LLVSCore

/// The frame around a record: u32 meta length, u32 data length, u64 XXH3-64 of those eight bytes and
/// the meta bytes; then the meta bytes, then the data, which the meta bytes carry a checksum of.
enum JournalFrame {
  static let headerSize = 16
  static let metaLimit = 1 << 30
  static let dataLimit = 1 << 20

  static func header(meta: [UInt8], dataLength: Int) -> [UInt8] {
    var out = RecordEncoder(reserving: headerSize)
    out.put(UInt32(truncatingIfNeeded: meta.count))
    out.put(UInt32(truncatingIfNeeded: dataLength))
    let sum = checksum(lengths: out.bytes, meta: meta)
    out.put(sum)
    return out.bytes
  }

  /// A record without its data: the frame, and the meta bytes that `meta` writes.
  static func record(dataLength: Int = 0, _ meta: (inout RecordEncoder) -> Void) -> [UInt8] {
    var out = RecordEncoder(reserving: 160)
    out.put(UInt64(0))
    out.put(UInt64(0))
    meta(&out)
    let metaLength = UInt32(truncatingIfNeeded: out.bytes.count - headerSize)
    let lengths = UInt64(metaLength) << 32 | UInt64(UInt32(truncatingIfNeeded: dataLength))
    // The checksum is of the lengths and the meta bytes: while it is made, they stand side by side.
    out.replace(at: 8, by: lengths)
    let sum = out.bytes.withUnsafeBytes {
      Checksum.of(UnsafeRawBufferPointer(rebasing: $0[8...]))
    }
    out.replace(at: 0, by: lengths)
    out.replace(at: 8, by: sum)
    return out.bytes
  }

  static func checksum(lengths: [UInt8], meta: [UInt8]) -> UInt64 {
    Checksum.of(lengths + meta)
  }
}
