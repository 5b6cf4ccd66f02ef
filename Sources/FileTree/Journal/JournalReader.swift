import LLVS
import Platform

/// Reads the records of a journal file in order, each checked.
struct JournalReader {
  /// What comes next.
  enum Item {
    case change(Change, position: UInt64)
    /// The file ends, whole or with a torn last record.
    case end
    /// A record is damaged although later ones were synced: nothing behind it can be trusted.
    case damaged(at: UInt64)
  }

  private let file: File
  private let size: UInt64
  private(set) var offset: UInt64 = 0

  init(_ file: File) throws(SystemError) {
    self.file = file
    size = try file.status().size
  }

  mutating func header() throws(StoreError) -> JournalHeader {
    let found: [UInt8]?
    do throws(SystemError) {
      found = try frame()?.meta
    } catch {
      throw .system(error)
    }
    guard let found else { throw .corrupt("the journal \(file.path) has no header") }
    return try JournalHeader(decoding: found)
  }

  mutating func next() throws(StoreError) -> Item {
    let start = offset
    do throws(SystemError) {
      guard let (meta, dataOffset) = try frame() else {
        return try hasMark(after: start) ? .damaged(at: start) : .end
      }
      guard let change = try? Change(decoding: meta) else { return .damaged(at: start) }
      if case .write(_, let extent, let checksum, _, _, _) = change, offset > dataOffset {
        let data = try file.read(Int(offset - dataOffset), at: dataOffset)
        guard extent.offset == dataOffset, extent.length == UInt64(data.count),
          Checksum.of(data) == checksum
        else {
          return try hasMark(after: start) ? .damaged(at: start) : .end
        }
      }
      return .change(change, position: start)
    } catch {
      throw .system(error)
    }
  }

  /// The meta bytes of the next frame and where its data begin; nil if there is no whole frame.
  private mutating func frame() throws(SystemError) -> (meta: [UInt8], dataOffset: UInt64)? {
    let header = try file.read(JournalFrame.headerSize, at: offset)
    guard header.count == JournalFrame.headerSize else { return nil }
    var input = ByteReader(header)
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
          var input = ByteReader(Array(block[(index + 8)..<(index + 16)]))
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
