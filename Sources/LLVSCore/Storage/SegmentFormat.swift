/// The kind of a record; the raw values are on disk.
enum RecordKind: UInt8, CaseIterable, Sendable {
  /// Bytes of a value.
  case chunk = 1
  /// A node of the tree of chunks of a long value.
  case valueNode = 2
  case mapNode = 3

  /// The greatest length of an unpacked record of the kind, in bytes.
  var bound: Int {
    switch self {
    case .chunk: 262_144
    case .valueNode: 65_536
    case .mapNode: 1 << 26
    }
  }

  /// The compression level of zstd. Nodes of maps, which are half digests, get equally short with level -1 and with
  /// 1 (0.413 of their length), in 11 us instead of 16.
  var compressionLevel: Int32 {
    switch self {
    case .chunk, .valueNode: 1
    case .mapNode: -1
    }
  }
}

/// The layout of a segment file, all integers big-endian:
///
///     header  "LLVSSEG" format(u8) number(u32) runs(u32) store id(16) checksum(u64)     40 bytes
///     record  kind(u8) flags(u8) zero(u16) payload length(u32) raw length(u32) checksum(u64) payload
///
/// | format | what it added |
/// |---|---|
/// | 1 | the above |
/// | 2 | records that are differences: their payload begins with the location of another (16) |
/// | 3 | nodes of values that record how many bytes below them are zeros |
/// | 4 | patches: the payload of a chunk's or a value node's difference begins with a count(u8) of 1 to 4 and as many locations |
/// | 5 | rewritten without forgotten records: the header has a number of runs and is followed by their table (``SegmentRuns``) |
/// | 6 | patches with up to 32 bases |
/// | 7 | as 6, rewritten |
///
/// A record's checksum is XXH3-64 of the payload, seeded with XXH3-64 of the fields before it, so a length is used
/// only after it was checked together with the bytes.
enum SegmentFormat {
  /// The format of new segments.
  static let version: UInt8 = 6
  static let magic = Array("LLVSSEG".utf8)
  /// The format of rewritten segments.
  static let rewritten: UInt8 = 7
  private static let allRewritten: Set<UInt8> = [5, rewritten]
  static let headerSize = 40
  static let recordHeaderSize = 20
  /// Flag: the payload is one zstd frame of `raw length` bytes.
  static let isCompressed: UInt8 = 1
  /// Flag, with the other: the payload is the location of another record, or several, then a frame to unpack with
  /// their raw bytes before it.
  static let isDelta: UInt8 = 2
  static let baseLength = 16
  /// The most bases of a patch.
  static let mostBases = 32

  static func name(of segment: UInt32) -> String {
    let digits = String(segment)
    return String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits + ".seg"
  }

  static func number(of name: String) -> UInt32? {
    guard name.hasSuffix(".seg"), let number = UInt32(name.dropLast(4)), number > 0,
      name == SegmentFormat.name(of: number)
    else { return nil }
    return number
  }

  static func header(
    number: UInt32, store: [UInt8], version: UInt8 = SegmentFormat.version, runs: UInt32 = 0
  ) -> [UInt8] {
    var bytes = magic + [version]
    bytes.append(bigEndian: number)
    bytes.append(bigEndian: runs)
    bytes += store
    bytes.append(bigEndian: bytes.withUnsafeBytes { Checksum.of($0) })
    return bytes
  }

  /// Checks a header, and returns the number of runs if the segment was rewritten.
  static func check(
    header bytes: [UInt8], number: UInt32, store: [UInt8], path: String
  ) throws(StoreError) -> Int? {
    guard bytes.count == headerSize, bytes.starts(with: magic) else {
      throw .corrupt("\(path): not a segment")
    }
    guard bytes[7] <= rewritten else {
      throw .fromTheFuture("\(path) has format \(bytes[7]), this program knows up to \(rewritten)")
    }
    let runs = bytes[12..<16].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let isRewritten = allRewritten.contains(bytes[7])
    let own = header(
      number: number, store: store, version: bytes[7], runs: isRewritten ? runs : 0)
    guard bytes[7] > 0, bytes == own else {
      throw .corrupt("\(path): its header belongs to another segment or store, or is damaged")
    }
    return isRewritten ? Int(runs) : nil
  }
}

struct RecordHeader: Sendable {
  var kind: RecordKind
  var flags: UInt8
  var payloadLength: Int
  var rawLength: Int
  var checksum: UInt64

  var isCompressed: Bool { flags & SegmentFormat.isCompressed != 0 }
  var isDelta: Bool { flags & SegmentFormat.isDelta != 0 }

  init(kind: RecordKind, flags: UInt8, payload: UnsafeRawBufferPointer, rawLength: Int) {
    self.kind = kind
    self.flags = flags
    payloadLength = payload.count
    self.rawLength = rawLength
    checksum = 0
    checksum = expectedChecksum(payload)
  }

  /// Parses 20 bytes; nil if a field is out of bounds.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= SegmentFormat.recordHeaderSize, let kind = RecordKind(rawValue: bytes[0]),
      bytes[1] & ~(SegmentFormat.isCompressed | SegmentFormat.isDelta) == 0, bytes[2] == 0,
      bytes[3] == 0
    else { return nil }
    self.kind = kind
    flags = bytes[1]
    payloadLength = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
    rawLength = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
    checksum = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt64.self))
    guard rawLength <= kind.bound, payloadLength <= rawLength,
      isCompressed || payloadLength == rawLength,
      !isDelta || (isCompressed && payloadLength > SegmentFormat.baseLength)
    else { return nil }
  }

  func write(to out: UnsafeMutableRawBufferPointer) {
    out[0] = kind.rawValue
    out[1] = flags
    out[2] = 0
    out[3] = 0
    out.storeBytes(of: UInt32(payloadLength).bigEndian, toByteOffset: 4, as: UInt32.self)
    out.storeBytes(of: UInt32(rawLength).bigEndian, toByteOffset: 8, as: UInt32.self)
    out.storeBytes(of: checksum.bigEndian, toByteOffset: 12, as: UInt64.self)
  }

  func expectedChecksum(_ payload: UnsafeRawBufferPointer) -> UInt64 {
    withUnsafeTemporaryAllocation(byteCount: SegmentFormat.recordHeaderSize, alignment: 8) {
      fields in
      write(to: fields)
      let seed = Checksum.of(UnsafeRawBufferPointer(rebasing: fields[..<12]))
      return Checksum.of(payload, seed: seed)
    }
  }
}

/// A record without a location yet.
struct PackedRecord: Sendable {
  let header: RecordHeader
  /// Nil if the bytes are stored uncompressed.
  let payload: [UInt8]?
}
