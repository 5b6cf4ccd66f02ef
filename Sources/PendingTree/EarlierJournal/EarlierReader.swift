import Inodes
import LLVSCore

/// The reason that a record of an earlier journal cannot be taken over.
enum EarlierRefusal: Error {
  /// The record is none that a program wrote.
  case malformed
  /// The record is a change that came after the checkpoint.
  case operation
}

/// Reads the fields of a record of an earlier journal (docs/formats.md, "The journal").
///
/// Every read is bounded and says when bytes are missing.
struct EarlierReader {
  private var reader: ByteReader

  init(_ bytes: UnsafeRawBufferPointer) { reader = ByteReader(bytes) }

  var isAtEnd: Bool { reader.remaining == 0 }

  mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(
    _ type: T.Type = T.self
  ) throws(EarlierRefusal) -> T {
    guard let value = reader.integer(type) else { throw .malformed }
    return value
  }

  mutating func bool() throws(EarlierRefusal) -> Bool {
    let value: UInt8 = try integer()
    guard value <= 1 else { throw .malformed }
    return value == 1
  }

  mutating func counted(atMost limit: Int) throws(EarlierRefusal) -> [UInt8] {
    let count = Int(try integer(UInt32.self))
    guard count <= limit, let bytes = reader.take(count) else { throw .malformed }
    return Array(bytes)
  }

  mutating func optional<Value>(
    _ body: (inout EarlierReader) throws(EarlierRefusal) -> Value
  ) throws(EarlierRefusal) -> Value? {
    try bool() ? try body(&self) : nil
  }

  mutating func number() throws(EarlierRefusal) -> InodeNumber { InodeNumber(try integer()) }

  mutating func place() throws(EarlierRefusal) -> InodeName {
    InodeName(directory: try number(), name: FileName(try counted(atMost: 255)))
  }

  /// An epoch; nil for the number 0, which stands for none.
  mutating func epoch() throws(EarlierRefusal) -> Epoch? {
    let value: UInt64 = try integer()
    return value == 0 ? nil : Epoch(value)
  }

  mutating func time() throws(EarlierRefusal) -> Attributes.Time {
    let time = Attributes.Time(seconds: try integer(), nanoseconds: try integer())
    guard time.nanoseconds < 1_000_000_000 else { throw .malformed }
    return time
  }

  mutating func attributes() throws(EarlierRefusal) -> Attributes {
    let fields = try counted(atMost: 1 << 24)
    guard let attributes = fields.withUnsafeBytes({ Attributes(decoding: $0) }) else {
      throw .malformed
    }
    return attributes
  }

  /// A location, whose fields stand in another order than elsewhere.
  mutating func location() throws(EarlierRefusal) -> Location {
    let segment: UInt32 = try integer()
    let length: UInt32 = try integer()
    return Location(segment: segment, offset: try integer(), length: length)
  }

  mutating func digest() throws(EarlierRefusal) -> Digest {
    guard let digest = reader.digest() else { throw .malformed }
    return digest
  }

  mutating func root() throws(EarlierRefusal) -> MapRoot {
    let location = try optional { (input) throws(EarlierRefusal) in try input.location() }
    return MapRoot(location: location, digest: try digest(), count: try integer())
  }

  mutating func stored() throws(EarlierRefusal) -> StoredContent {
    let length: UInt64 = try integer()
    let digest = try digest()
    let content: Content
    switch try integer(UInt8.self) {
    case 0: content = .none
    case 1: content = .inline(try counted(atMost: 4096))
    case 2: content = .chunk(try location())
    case 3: content = .tree(try location())
    default: throw .malformed
    }
    return StoredContent(length: length, digest: digest, content: content)
  }

  mutating func content() throws(EarlierRefusal) -> FileContent {
    let base = try optional { (input) throws(EarlierRefusal) in try input.stored() }
    let size: UInt64 = try integer()
    var extents = ExtentList()
    var reach: UInt64 = 0
    for _ in 0..<(try integer(UInt32.self)) {
      let extent = try extent()
      guard extent.start >= reach, extent.end <= size else { throw .malformed }
      reach = extent.end
      extents.put(extent)
    }
    return FileContent(base: base, extents: extents, size: size)
  }

  private mutating func extent() throws(EarlierRefusal) -> Extent {
    let extent = Extent(
      start: try integer(), length: try integer(), offset: try integer(), source: try integer())
    let limit = UInt64(Int64.max)
    guard extent.length > 0, extent.length <= limit, extent.start <= limit, extent.offset <= limit
    else { throw .malformed }
    return extent
  }

  /// A saved state, which nobody wrote over unless it says so later.
  mutating func save() throws(EarlierRefusal) -> PendingFile.Save {
    let content = try content()
    let mtime = try optional { (input) throws(EarlierRefusal) in try input.time() }
    let hasSetTime = try bool()
    let time = try time()
    return PendingFile.Save(
      content: content, mtime: mtime, time: time, seen: try epoch(), hasSetTime: hasSetTime)
  }

  /// Checksums of bytes in a data file.
  mutating func sums() throws(EarlierRefusal) -> EarlierCheckpoint.SourceSums {
    let source: UInt32 = try integer()
    let count: UInt32 = try integer()
    guard source != Extent.base, count <= 4096 else { throw .malformed }
    var sums: [BytesSum] = []
    for _ in 0..<count {
      let sum = BytesSum(offset: try integer(), length: try integer(), sum: try integer())
      guard sum.length > 0, sum.length <= BytesSum.limit, sum.offset <= UInt64(Int64.max) else {
        throw .malformed
      }
      sums.append(sum)
    }
    return EarlierCheckpoint.SourceSums(source: source, sums: sums)
  }
}
