import Inodes
import LLVSCore
import Platform

/// Reads the records of a journal file in order, each checked.
struct JournalReader {
  /// What comes next.
  enum Item {
    /// A change; `isRotten` where the bytes that it carries are not what was written.
    case change(Change, position: UInt64, isRotten: Bool)
    /// The file ends, whole or with a torn last record.
    case end
    /// A record is damaged although later ones were synced: nothing behind it can be trusted.
    case damaged(at: UInt64)
  }

  private let file: File
  private let size: UInt64
  private(set) var offset: UInt64 = 0
  /// Whether no power can have been lost since the file was begun; the header tells.
  private(set) var isSameBoot = false
  /// Whether a bit of the header had flipped, and was read as it was written.
  private(set) var hasMendedHeader = false

  init(_ file: File) throws(SystemError) {
    self.file = file
    size = try file.status().size
  }

  mutating func header() throws(StoreError) -> JournalHeader {
    let found = try StoreError.wrapping { () throws(SystemError) -> [UInt8]? in
      if let meta = try frame()?.meta { return meta }
      return try mendedHeader()
    }
    guard let found else { throw .corrupt("the journal \(file.path) has no header") }
    let header = try JournalHeader(decoding: found)
    isSameBoot = !header.bootID.isEmpty && header.bootID == LiveTree.bootID()
    return header
  }

  mutating func next() throws(StoreError) -> Item {
    let start = offset
    return try StoreError.wrapping { () throws(SystemError) in
      guard let (meta, dataOffset) = try frame() else {
        return try isDamage(at: start) ? .damaged(at: start) : .end
      }
      guard let change = try? Change(decoding: meta) else { return .damaged(at: start) }
      if case .resize(_, _, _, _, let flags) = change, flags.contains(.joined) {
        let end = offset
        let isWhole = try frame() != nil
        offset = isWhole ? end : start
        guard isWhole else { return try isDamage(at: end) ? .damaged(at: end) : .end }
      }
      if case .write(_, let extent, let checksum, _, _, _) = change, offset > dataOffset {
        guard extent.offset == dataOffset, extent.length == offset - dataOffset else {
          return .damaged(at: start)
        }
        let data = try file.read(Int(extent.length), at: dataOffset)
        if UInt64(data.count) != extent.length || Checksum.of(data) != checksum {
          if data.last == 0, offset < size, try isZeros(from: offset) {
            offset = start
            return .end
          }
          // Without a power failure they were there, and after one if a mark says so: they rotted, which
          // whoever reads them is told.
          var stood = isSameBoot
          if !stood { stood = try hasMark(after: start) }
          guard stood else { return .end }
          return .change(change, position: start, isRotten: true)
        }
      }
      return .change(change, position: start, isRotten: false)
    }
  }

  /// The header where one bit of it has flipped: the one that makes its checksum right again.
  private mutating func mendedHeader() throws(SystemError) -> [UInt8]? {
    var bytes = try file.read(JournalFrame.headerSize + JournalHeader.lengthLimit, at: 0)
    for bit in 0..<(bytes.count * 8) {
      bytes[bit / 8] ^= 1 << (bit % 8)
      defer { bytes[bit / 8] ^= 1 << (bit % 8) }
      var input = RecordDecoder(Array(bytes.prefix(JournalFrame.headerSize)))
      guard let length = try? input.get(UInt32.self), length > 0,
        JournalFrame.headerSize + Int(length) <= bytes.count,
        let data = try? input.get(UInt32.self), data == 0, let sum = try? input.get(UInt64.self)
      else { continue }
      let end = JournalFrame.headerSize + Int(length)
      guard bit < end * 8 else { return nil }
      let meta = Array(bytes[JournalFrame.headerSize..<end])
      guard JournalFrame.checksum(lengths: Array(bytes[..<8]), meta: meta) == sum else { continue }
      offset = UInt64(end)
      hasMendedHeader = true
      return meta
    }
    return nil
  }

  /// Whether any change can be read, whatever stands before it.
  func hasChanges() throws(StoreError) -> Bool {
    try StoreError.wrapping { () throws(SystemError) in try hasFrame(after: 0) }
  }

  /// Whether nothing but zeros follows: they were written ahead of records, of which one that was being
  /// written when the process was killed ends where they begin.
  private func isZeros(from start: UInt64) throws(SystemError) -> Bool {
    var at = start
    while at < size {
      let block = try file.read(1 << 20, at: at)
      guard !block.isEmpty, block.allSatisfy({ $0 == 0 }) else { return false }
      at += UInt64(block.count)
    }
    return true
  }

  /// Where the last whole record ends; nil where one before it is damaged.
  static func end(of file: File) -> UInt64? {
    guard var reader = try? JournalReader(file), (try? reader.header()) != nil else { return nil }
    while let item = try? reader.next() {
      switch item {
      case .change: continue
      case .end: return reader.offset
      case .damaged: return nil
      }
    }
    return nil
  }

  /// Whether a frame that is not whole was so once: a killed process leaves the beginning of a frame at
  /// the end of the file and nothing else; a power failure may take whatever no mark covers.
  private func isDamage(at start: UInt64) throws(SystemError) -> Bool {
    if try hasMark(after: start) { return true }
    guard isSameBoot, try !isCutShort(at: start) else { return false }
    return try hasFrame(after: start)
  }

  /// Whether a frame is whole but for data that the end of the file cut off: what a program wrote into it
  /// may look like frames.
  private func isCutShort(at start: UInt64) throws(SystemError) -> Bool {
    let header = try file.read(JournalFrame.headerSize, at: start)
    guard header.count == JournalFrame.headerSize else { return true }
    var input = RecordDecoder(header)
    guard let metaLength = try? input.get(UInt32.self), (try? input.get(UInt32.self)) != nil,
      let sum = try? input.get(UInt64.self), metaLength > 0, metaLength < 1 << 20
    else { return false }
    let meta = try file.read(Int(metaLength), at: start + UInt64(JournalFrame.headerSize))
    return meta.count == Int(metaLength)
      && JournalFrame.checksum(lengths: Array(header[..<8]), meta: meta) == sum
  }

  /// The meta bytes of the next frame and where its data begin; nil if there is no whole frame.
  private mutating func frame() throws(SystemError) -> (meta: [UInt8], dataOffset: UInt64)? {
    let header = try file.read(JournalFrame.headerSize, at: offset)
    guard header.count == JournalFrame.headerSize else { return nil }
    var input = RecordDecoder(header)
    guard let metaLength = try? input.get(UInt32.self),
      let dataLength = try? input.get(UInt32.self), let sum = try? input.get(UInt64.self),
      metaLength > 0, Int(metaLength) <= JournalFrame.metaLimit,
      Int(dataLength) <= JournalFrame.dataLimit
    else { return nil }
    let dataOffset = offset + UInt64(JournalFrame.headerSize) + UInt64(metaLength)
    let end = dataOffset + UInt64(dataLength)
    guard end <= size else { return nil }
    let meta = try file.read(Int(metaLength), at: offset + UInt64(JournalFrame.headerSize))
    guard meta.count == Int(metaLength),
      JournalFrame.checksum(lengths: Array(header[..<8]), meta: meta) == sum
    else { return nil }
    offset = end
    return (meta, dataOffset)
  }

  /// Whether the meta bytes of some whole frame stand behind an offset.
  private func hasFrame(after start: UInt64) throws(SystemError) -> Bool {
    let least = JournalFrame.headerSize + 1
    var at = start + 1
    while at < size {
      let block = try file.read(1 << 20, at: at)
      guard block.count >= least else { return false }
      for index in 0...(block.count - least) {
        // Records between two checkpoints are short; most bytes are told apart by the first look.
        guard block[index] == 0, block[index + 1] == 0, block[index + 2] < 0x10 else { continue }
        let metaLength = Int(block[index + 2]) << 8 | Int(block[index + 3])
        let end = index + JournalFrame.headerSize + metaLength
        guard metaLength > 0, end <= block.count else { continue }
        let header = Array(block[index..<(index + JournalFrame.headerSize)])
        var input = RecordDecoder(Array(header[8...]))
        let meta = Array(block[(index + JournalFrame.headerSize)..<end])
        if JournalFrame.checksum(lengths: Array(header[..<8]), meta: meta) == (try? input.get()),
          (try? Change(decoding: meta)) != nil
        {
          return true
        }
      }
      guard block.count == 1 << 20 else { return false }
      // What begins near the block's end is looked at again as a whole.
      at += UInt64(block.count - (JournalFrame.headerSize + 4096))
    }
    return false
  }

  /// Whether a whole sync mark stands behind an offset and says that what begins there was durable.
  private func hasMark(after start: UInt64) throws(SystemError) -> Bool {
    let pattern: [UInt8] = [0, 0, 0, 9, 0, 0, 0, 0]
    var at = start
    while at < size {
      let block = try file.read(1 << 20, at: at)
      guard block.count >= 25 else { return false }
      var index = 0
      while index + 25 <= block.count {
        if block[index] == 0, block[index + 3] == 9, Array(block[index..<(index + 8)]) == pattern {
          let meta = Array(block[(index + 16)..<(index + 25)])
          var input = RecordDecoder(Array(block[(index + 8)..<(index + 16)]))
          if JournalFrame.checksum(lengths: pattern, meta: meta) == (try? input.get(UInt64.self)),
            case .synced(let end)? = try? Change(decoding: meta), end > start
          {
            return true
          }
        }
        index += 1
      }
      at += UInt64(max(1, block.count - 24))
    }
    return false
  }
}
