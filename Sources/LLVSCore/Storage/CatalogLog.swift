internal import Platform

/// SQLite's write-ahead log of the catalog (store.sqlite-wal), examined before SQLite opens it.
///
/// SQLite takes the first frame with a wrong checksum for the end of the log, since a power failure leaves parts of
/// the last transaction. A flipped bit looks the same to SQLite, which would silently drop everything behind it,
/// however old.
///
/// INVARIANT S6: a damaged log never loses committed transactions without a message. Before SQLite
///   opens a log that no other writer has open:
///
/// 1. A frame or header with one flipped bit is repaired (CatalogLog+Repair.swift): its checksum identifies the
///    bit, or a few possible bits. No power failure leaves such a frame, so the repair is right even in the last
///    transaction. If several bits are possible, two bits of the page may be wrong afterwards: the checksums of its
///    rows detect that, as for a bit that flipped in the database.
/// 2. If a frame cannot be repaired, and behind it are the end of a transaction and the first frame of the next
///    one, both whole, then the transactions from that frame on are lost, and a message says so: a transaction is
///    written only after the one before it is durable. A frame is whole if it has the log's salts and its checksum
///    continues from the frame before it.
/// 3. Anything else is ignored: it was never confirmed or does not belong to this log. It may be parts of the last
///    transaction in any order, frames of a rolled-back one, frames of older generations (other salts), or zeros
///    written ahead.
///
/// A log that was cut short shows none of this. Other files then show how far the catalog went: index.sqlite
/// (``Store/lostVersions(_:_:)``) and the journal of pending changes.
struct CatalogLog {
  struct Repair: Equatable {
    var offset: UInt64
    var byte: UInt8
  }

  struct Finding {
    var repairs: [Repair] = []
    /// Sentences without their periods, one for each fault.
    var words: [String] = []

    var isSound: Bool { words.isEmpty }
  }

  static let headerSize = 32
  static let frameHeaderSize = 24
  let path: String
  let file: File
  let isBigEndian: Bool
  let salts: ArraySlice<UInt8>
  let frameSize: Int
  private var finding = Finding()

  static func examine(_ directory: String) throws(SystemError) -> Finding {
    let path = "\(directory)/store.sqlite-wal"
    guard try FileSystem.exists(path),
      try FileSystem.status(path, following: false).kind == .regular
    else { return Finding() }
    let file = try File.regular(path, .read)
    guard var log = try CatalogLog(file, path) else { return Finding() }
    try log.examine()
    return log.finding
  }

  static func mend(_ finding: Finding, in directory: String) throws(SystemError) {
    guard !finding.repairs.isEmpty else { return }
    let file = try File.regular("\(directory)/store.sqlite-wal", .readWrite)
    // Each repair makes one frame whole, so after a crash the remaining repairs are found again.
    for repair in finding.repairs { try file.write([repair.byte], at: repair.offset) }
    try file.syncData()
  }

  /// The checksum that the examined frame continues from.
  private(set) var seed = LogSum()

  private init?(_ file: File, _ path: String) throws(SystemError) {
    self.file = file
    self.path = path
    var header = try file.read(CatalogLog.headerSize, at: 0)
    guard header.count == CatalogLog.headerSize, header.contains(where: { $0 != 0 }) else {
      return nil
    }
    if !CatalogLog.isHeader(header) {
      // The first frame has the salts as well.
      let frame = try file.read(CatalogLog.frameHeaderSize, at: UInt64(CatalogLog.headerSize))
      guard frame.count == CatalogLog.frameHeaderSize else { return nil }
      if let repair = CatalogLog.repair(ofHeader: header, salts: frame[8..<16]) {
        header[Int(repair.offset)] = repair.byte
        finding.repairs.append(repair)
        finding.words.append("\(path): its header had a flipped bit, which is repaired")
      } else {
        // The other fields are as this program on this machine writes them.
        header.replaceSubrange(16..<24, with: frame[8..<16])
        header[3] = 0x82
        header.replaceSubrange(8..<12, with: [0, 0, 16, 0])
        header.replaceSubrange(24..<32, with: [UInt8](repeating: 0, count: 8))
      }
    }
    isBigEndian = header[3] & 1 == 1
    salts = header[16..<24]
    frameSize = CatalogLog.frameHeaderSize + Int(header.word(8, isBigEndian: true))
    seed = LogSum(header, at: 24)
  }

  private static func isHeader(_ header: [UInt8]) -> Bool {
    let (magic, size) = (header.word(0, isBigEndian: true), header.word(8, isBigEndian: true))
    guard magic & ~1 == 0x377F_0682, header.word(4, isBigEndian: true) == 3_007_000,
      size >= 512, size <= 65_536, size & (size - 1) == 0
    else { return false }
    var sum = LogSum()
    sum.add(header[..<24], isBigEndian: magic & 1 == 1)
    return sum == LogSum(header, at: 24)
  }

  private static func repair(ofHeader header: [UInt8], salts: ArraySlice<UInt8>) -> Repair? {
    for bit in 0..<(headerSize * 8) {
      var tried = header
      tried[bit / 8] ^= 1 << UInt8(bit % 8)
      if isHeader(tried), tried[16..<24] == salts {
        return Repair(offset: UInt64(bit / 8), byte: tried[bit / 8])
      }
    }
    return nil
  }

  private mutating func examine() throws(SystemError) {
    var at = UInt64(CatalogLog.headerSize)
    while true {
      let frame = try file.read(frameSize, at: at)
      guard frame.count == frameSize else { return }
      let (sum, stored) = (sum(of: frame, from: seed), LogSum(frame, at: 16))
      if sum == stored, frame[8..<16] == salts {
        seed = stored
      } else if let repair = try repair(of: frame, at: at, sum: sum) {
        finding.repairs.append(Repair(offset: at + UInt64(repair.place), byte: repair.byte))
        finding.words.append(
          "\(path): the frame at byte \(at) had a flipped bit, which is repaired"
            + (repair.isCertain ? "" : " as far as its checksum tells which"))
        // The frame's stored checksum is right unless the flipped bit was in it.
        seed = (16..<24).contains(repair.place) ? sum : stored
      } else {
        return try lookBehind(frame, at: at)
      }
      at += UInt64(frameSize)
    }
  }

  func sum(of frame: [UInt8], from seed: LogSum) -> LogSum {
    var sum = seed
    sum.add(frame[..<8], isBigEndian: isBigEndian)
    sum.add(frame[CatalogLog.frameHeaderSize...], isBigEndian: isBigEndian)
    return sum
  }

  /// Reports the transactions that are lost behind a frame that cannot be repaired.
  private mutating func lookBehind(_ bad: [UInt8], at start: UInt64) throws(SystemError) {
    var at = start + UInt64(frameSize)
    var before = LogSum(bad, at: 16)
    var (isEnd, ends, isProven) = (false, 0, false)
    while true {
      let header = try file.read(CatalogLog.frameHeaderSize, at: at)
      guard header.count == CatalogLog.frameHeaderSize else { break }
      let stored = LogSum(header, at: 16)
      var isWhole = false
      if header[8..<16] == salts {
        let frame = try file.read(frameSize, at: at)
        isWhole = frame.count == frameSize && sum(of: frame, from: before) == stored
      }
      if isWhole, isEnd { isProven = true }
      isEnd = isWhole && header.word(4, isBigEndian: true) != 0
      if isEnd { ends += 1 }
      before = stored
      at += UInt64(frameSize)
    }
    guard isProven else { return }
    finding.words.append(
      "\(path) is damaged at byte \(start): what was committed from there on, "
        + "\(ends) transactions or more, is lost")
  }
}
