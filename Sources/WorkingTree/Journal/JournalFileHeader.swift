import LLVSCore

/// The header of a journal file: u8 × 8 magic, u32 format, u64 checksum of the rest, u16 length of the rest; then
/// the owner, the cut and the file's seed. It is written twice, so that one damaged block loses nothing.
struct JournalFileHeader: Hashable, Sendable {
  static let magic: [UInt8] = Array("llvstree".utf8)
  static let format: UInt32 = 5
  /// The oldest readable format.
  static let oldest: UInt32 = 1
  static let copySize = 512
  static let size = 2 * copySize
  private static let fixedSize = 22
  var format = JournalFileHeader.format
  /// The boot id when the file was begun: if it is the same, no power was lost since.
  var bootID: [UInt8]
  var storeID: [UInt8]
  var cut: UInt64
  /// The greatest number of a data file when the file was begun.
  var lastNumber: UInt32
  var seed: UInt64

  var encoded: [UInt8] {
    var body = ByteWriter()
    body.append(counted: bootID)
    body.append(counted: storeID)
    cut.encode(into: &body)
    lastNumber.encode(into: &body)
    seed.encode(into: &body)
    var copy = ByteWriter()
    copy.append(contentsOf: Self.magic)
    copy.append(coded: format, body.withBytes { Checksum.of($0) })
    copy.append(bigEndian: UInt16(truncatingIfNeeded: body.count))
    copy.append(contentsOf: body)
    copy.append(contentsOf: [UInt8](repeating: 0, count: Self.copySize - copy.count))
    return copy.array + copy.array
  }

  enum Found {
    case whole(JournalFileHeader)
    /// One copy is damaged.
    case mended(JournalFileHeader)
    case future(UInt32)
    case none
  }

  static func look(in bytes: [UInt8]) -> Found {
    let copies = [0, copySize].map { start in
      start + copySize <= bytes.count ? one(Array(bytes[start..<(start + copySize)])) : Found.none
    }
    switch (copies[0], copies[1]) {
    case (.whole(let header), .whole(let other)) where header == other: return .whole(header)
    case (.whole(let header), _), (_, .whole(let header)): return .mended(header)
    case (.future(let found), .future(let other)) where found == other: return .future(found)
    default: return .none
    }
  }

  private static func one(_ copy: [UInt8]) -> Found {
    guard copy.starts(with: magic) else { return .none }
    return copy.withUnsafeBytes { raw in
      let found = raw.bigEndian(UInt32.self, at: 8)
      if found > format { return .future(found) }
      let length = Int(raw.bigEndian(UInt16.self, at: 20))
      guard found >= oldest, length <= copySize - fixedSize else { return .none }
      let body = UnsafeRawBufferPointer(rebasing: raw[fixedSize..<(fixedSize + length)])
      guard Checksum.of(body) == raw.bigEndian(UInt64.self, at: 12) else { return .none }
      var reader = ByteReader(body)
      guard let bootID = reader.counted(), let storeID = reader.counted(),
        let cut = UInt64(from: &reader), let lastNumber = UInt32(from: &reader),
        let seed = UInt64(from: &reader), reader.remaining == 0
      else { return .none }
      return .whole(
        JournalFileHeader(
          format: found, bootID: bootID, storeID: storeID, cut: cut, lastNumber: lastNumber,
          seed: seed))
    }
  }
}
