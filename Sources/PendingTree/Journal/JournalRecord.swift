package import Inodes
import LLVSCore

/// One record of the journal: a change, or a part of the overlay's image that a journal begins with.
package enum JournalRecord: Hashable, Sendable {
  /// What a program did.
  case change(Change)
  /// The image begins: the epoch and the stamp of the overlay, and whether a cut is under way.
  case image(epoch: Epoch, stamp: ChangeStamp, isCutting: Bool)
  /// A node of the image.
  case node(InodeNumber, PendingNode)
  /// A change of a name, of the image.
  case name(InodeName, NameChange)

  private enum Tag: UInt8 {
    case change = 1, image, node, name
  }

  /// The record with its frame: u32 length and u64 checksum, then u8 tag and what it says.
  package var framed: [UInt8] {
    var bytes: [UInt8] = []
    switch self {
    case .change(let change): put(.change, change, into: &bytes)
    case .image(let epoch, let stamp, let isCutting):
      put(.image, epoch, stamp, isCutting, into: &bytes)
    case .node(let number, let node): put(.node, number, node, into: &bytes)
    case .name(let place, let change): put(.name, place, change, into: &bytes)
    }
    return JournalFrame.around(bytes)
  }

  private func put(_ tag: Tag, _ values: any JournalCoded..., into bytes: inout [UInt8]) {
    bytes.append(tag.rawValue)
    for value in values { value.encode(into: &bytes) }
  }

  /// Decodes what stands in a frame; nil if that is no record.
  init?(decoding bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let tag = UInt8(from: &reader).flatMap(Tag.init(rawValue:)) else { return nil }
    switch tag {
    case .change:
      guard let change = Change(from: &reader) else { return nil }
      self = .change(change)
    case .image:
      guard let epoch = Epoch(from: &reader), let stamp = ChangeStamp(from: &reader),
        let isCutting = Bool(from: &reader)
      else { return nil }
      self = .image(epoch: epoch, stamp: stamp, isCutting: isCutting)
    case .node:
      guard let number = InodeNumber(from: &reader), let node = PendingNode(from: &reader) else {
        return nil
      }
      self = .node(number, node)
    case .name:
      guard let place = InodeName(from: &reader), let change = NameChange(from: &reader) else {
        return nil
      }
      self = .name(place, change)
    }
    guard reader.remaining == 0 else { return nil }
  }
}

/// The frame of a record: u32 length of the record, u64 XXH3-64 of those four bytes and the record.
package enum JournalFrame {
  /// The bytes before a record.
  static let headerSize = 12
  /// No record is longer.
  static let limit = 1 << 30

  static func around(_ record: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(record.count + headerSize)
    let length = UInt32(truncatingIfNeeded: record.count)
    bytes.append(bigEndian: length)
    bytes.append(bigEndian: sum(length, record))
    return bytes + record
  }

  private static func sum(_ length: UInt32, _ record: [UInt8]) -> UInt64 {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: length)
    return Checksum.of(bytes + record)
  }

  /// Reads records one after the other, to the first that is torn or damaged.
  ///
  /// - Returns: the records, and how many bytes they take; what stands behind is no record.
  package static func records(in bytes: [UInt8]) -> (records: [JournalRecord], end: Int) {
    var records: [JournalRecord] = []
    var at = 0
    while bytes.count - at >= headerSize {
      let head = Array(bytes[at..<(at + headerSize)])
      let (length, expected) = head.withUnsafeBytes { head in
        (head.bigEndian(UInt32.self, at: 0), head.bigEndian(UInt64.self, at: 4))
      }
      let start = at + headerSize
      guard length <= limit, bytes.count - start >= Int(length) else { break }
      let record = Array(bytes[start..<(start + Int(length))])
      guard sum(length, record) == expected,
        let decoded = record.withUnsafeBytes({ JournalRecord(decoding: $0) })
      else { break }
      records.append(decoded)
      at = start + Int(length)
    }
    return (records, at)
  }
}
