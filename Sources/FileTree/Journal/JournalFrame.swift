import LLVS

/// The frame around a record: u32 meta length, u32 data length, u64 XXH3-64 of those eight bytes and
/// the meta bytes; then the meta bytes, then the data, which the meta bytes carry a checksum of.
enum JournalFrame {
  static let headerSize = 16
  static let metaLimit = 1 << 30
  static let dataLimit = 1 << 20

  static func header(meta: [UInt8], dataLength: Int) -> [UInt8] {
    var out = ByteWriter(reserving: headerSize)
    out.put(UInt32(truncatingIfNeeded: meta.count))
    out.put(UInt32(truncatingIfNeeded: dataLength))
    let sum = checksum(lengths: out.bytes, meta: meta)
    out.put(sum)
    return out.bytes
  }

  static func checksum(lengths: [UInt8], meta: [UInt8]) -> UInt64 {
    Checksum.of(lengths + meta)
  }
}
