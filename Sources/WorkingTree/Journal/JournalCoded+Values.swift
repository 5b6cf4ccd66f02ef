import Inodes
import LLVSCore

/// A value that is a u64 in a record.
protocol JournalNumber: JournalCoded {
  var rawValue: UInt64 { get }
  init(_ rawValue: UInt64)
}

extension JournalNumber {
  func encode(into bytes: inout ByteWriter) { rawValue.encode(into: &bytes) }
  init?(from reader: inout ByteReader) {
    guard let value = UInt64(from: &reader) else { return nil }
    self.init(value)
  }
}

extension InodeNumber: JournalNumber {}
extension Epoch: JournalNumber {}
extension ChangeStamp: JournalNumber {}

extension InodeName: JournalCoded {
  /// An aside name has a byte more than a file's.
  private static let longestName = 256

  func encode(into bytes: inout ByteWriter) {
    directory.encode(into: &bytes)
    bytes.append(counted: name.bytes)
  }
  init?(from reader: inout ByteReader) {
    guard let directory = InodeNumber(from: &reader), let name = reader.countedBytes(),
      name.count <= Self.longestName
    else { return nil }
    self.init(directory: directory, name: FileName(name))
  }
}

extension TreePath: JournalCoded {
  func encode(into bytes: inout ByteWriter) { bytes.append(counted: self.bytes) }
  init?(from reader: inout ByteReader) {
    guard let bytes = reader.counted() else { return nil }
    self.init(bytes)
  }
}

extension EntryKind: JournalCoded {}

extension Change.WriteFlags: JournalCoded {
  init?(from reader: inout ByteReader) {
    guard let value = UInt8(from: &reader), value < 4 else { return nil }
    self.init(rawValue: value)
  }
}

extension Attributes.Time: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(bigEndian: seconds)
    bytes.append(bigEndian: nanoseconds)
  }
  init?(from reader: inout ByteReader) {
    guard let seconds = UInt64(from: &reader), let nanoseconds = UInt32(from: &reader),
      nanoseconds < 1_000_000_000
    else { return nil }
    self.init(seconds: Int64(bitPattern: seconds), nanoseconds: nanoseconds)
  }
}

/// Attributes with their length, because their encoding does not say where it ends.
struct CodedAttributes: JournalCoded {
  let attributes: Attributes
  init(_ attributes: Attributes) { self.attributes = attributes }

  func encode(into bytes: inout ByteWriter) { Self.encode(attributes, into: &bytes) }

  static func encode(_ attributes: Attributes, into bytes: inout ByteWriter) {
    // Nearly all are short: their length is a byte.
    let start = bytes.count
    bytes.append(0)
    attributes.encode(into: &bytes)
    let length = bytes.count - start - 1
    if length < 0x80 { return bytes.replace(bigEndian: UInt8(length), at: start) }
    bytes.truncate(to: start)
    bytes.append(counted: attributes.encoded)
  }
  init?(from reader: inout ByteReader) {
    guard let fields = reader.countedBytes(), let attributes = Attributes(decoding: fields) else {
      return nil
    }
    self.attributes = attributes
  }
}

extension ByteReader {
  /// Reads counted bytes: a varint and as many bytes.
  mutating func counted() -> [UInt8]? { countedBytes().map { Array($0) } }

  /// As ``counted()``; points into the reader's bytes.
  mutating func countedBytes() -> UnsafeRawBufferPointer? {
    guard let count = varint(), count <= UInt64(remaining) else { return nil }
    return take(Int(count))
  }
}
