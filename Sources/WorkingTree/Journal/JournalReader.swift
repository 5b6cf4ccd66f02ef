import LLVSCore
import Platform

struct JournalReader {
  enum Item {
    case record(JournalRecord)
    case bytes(BytesSum, isWhole: Bool)
    case end
    /// A record that was whole is damaged: nothing behind it can be trusted.
    case damaged
  }

  private static let blockSize = 4 << 20
  let header: JournalFileHeader
  let isMended: Bool
  private let file: File
  private let size: UInt64
  /// True if no power was lost since the file was begun.
  let isSameBoot: Bool
  private var block: [UInt8] = []
  private var blockStart: UInt64 = 0
  /// The offset of the next record, or of the damaged one.
  private(set) var offset = UInt64(JournalFileHeader.size)

  /// Opens a file at its first record; throws ``StoreError/fromTheFuture(_:)``, ``StoreError/corrupt(_:)`` without
  /// a header, ``StoreError/system(_:)``.
  init(_ file: File, bootID: [UInt8]) throws(StoreError) {
    self.file = file
    let (bytes, size) = try StoreError.wrapping { () throws(SystemError) in
      (try file.read(JournalFileHeader.size, at: 0), try file.status().size)
    }
    self.size = size
    switch JournalFileHeader.look(in: bytes) {
    case .whole(let header): (self.header, isMended) = (header, false)
    case .mended(let header): (self.header, isMended) = (header, true)
    case .future(let found):
      throw .fromTheFuture(
        "the journal \(file.path) has format \(found), this program knows up to "
          + "\(JournalFileHeader.format)")
    case .none: throw .corrupt("the journal \(file.path) has no header")
    }
    isSameBoot = !bootID.isEmpty && header.bootID == bootID
  }

  mutating func next() throws(StoreError) -> Item {
    try StoreError.wrapping { () throws(SystemError) in
      let start = offset
      guard let frame = try frame() else { return try isDamage() ? .damaged : .end }
      let found = block.withUnsafeBytes { raw -> Item? in
        let record = UnsafeRawBufferPointer(rebasing: raw[frame])
        guard record[0] == JournalFrame.bytesTag else {
          return JournalRecord(decoding: record, format: header.format).map { .record($0) }
        }
        let bytes = UnsafeRawBufferPointer(rebasing: record[9...])
        guard bytes.count > 0, bytes.count <= Int(BytesSum.limit) else { return nil }
        let sum = BytesSum(
          offset: start + UInt64(JournalFrame.bytesHeaderSize), length: UInt32(bytes.count),
          sum: record.bigEndian(UInt64.self, at: 1))
        return .bytes(sum, isWhole: Checksum.of(bytes) == sum.sum)
      }
      guard let found else {
        offset = start
        return .damaged
      }
      return found
    }
  }

  /// Finds the next record in the block and moves behind it; nil without a whole frame.
  private mutating func frame() throws(SystemError) -> Range<Int>? {
    var found = look()
    if case .none = found, !isHeaderInBlock { try load(Self.blockSize) }
    found = look()
    if case .more(let end) = found, blockStart + UInt64(end) <= size {
      try load(max(Self.blockSize, end - Int(offset - blockStart)))
      found = look()
    }
    guard case .record(let range) = found else { return nil }
    offset = blockStart + UInt64(range.upperBound)
    return range
  }

  private var isHeaderInBlock: Bool {
    offset >= blockStart
      && offset + UInt64(JournalFrame.bytesHeaderSize) <= blockStart + UInt64(block.count)
  }

  private func look() -> JournalFrame.Found {
    guard offset >= blockStart, offset <= blockStart + UInt64(block.count) else { return .none }
    return block.withUnsafeBytes {
      JournalFrame.look(in: $0, at: Int(offset - blockStart), seed: header.seed)
    }
  }

  private mutating func load(_ count: Int) throws(SystemError) {
    block = try file.read(count, at: offset)
    blockStart = offset
  }

  /// True if a broken frame was once whole: a killed process leaves the beginning of a frame and nothing behind it;
  /// a power failure may take anything that no mark covers.
  private mutating func isDamage() throws(SystemError) -> Bool {
    let start = offset
    var at = start + 1
    while at < size {
      let block = try file.read(1 << 20, at: at)
      let found = block.withUnsafeBytes { raw in search(raw, from: at, start) }
      if found { return true }
      guard block.count == 1 << 20 else { return false }
      // A frame cut off by the block's end is read again.
      at += UInt64(block.count - (JournalFrame.headerSize + 4096))
    }
    return false
  }

  /// True if a record in the block shows that the frame at `start` was whole: a later mark, or without a power
  /// failure any record.
  private func search(_ raw: UnsafeRawBufferPointer, from: UInt64, _ start: UInt64) -> Bool {
    let least = JournalFrame.headerSize + 1
    guard raw.count >= least else { return false }
    for index in 0...(raw.count - least) {
      // Records between two images are short, so this excludes most bytes.
      guard raw[index + 8] == 0, raw[index + 9] == 0, raw[index + 10] < 0x10,
        case .record(let range) = JournalFrame.look(in: raw, at: index, seed: header.seed),
        raw[range.lowerBound] != JournalFrame.bytesTag,
        let record = JournalRecord(
          decoding: UnsafeRawBufferPointer(rebasing: raw[range]), format: header.format)
      else { continue }
      if isSameBoot { return true }
      if case .synced(let end) = record, end > start { return true }
    }
    return false
  }
}
