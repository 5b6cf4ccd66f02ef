import Inodes
import LLVSCore

// A record as a blob of tree.sqlite:
//
//   u8 kind | u8 flags: 1 an origin, 2 a shown time, 4 lacks long extended attributes
//   varint origin | time changed | shown time
//   where the kind is not a directory: varint length; if that is above 0: digest, u8 content
//   (1 inline: the bytes; 2 a chunk, 3 a tree: u32 segment, u64 offset, u32 length)
//   the rest: attributes as in digest 1
//
// A time is u64 seconds (of a signed number), u32 nanoseconds. Integers are big-endian.

extension InodeRecord {
  private enum Flag {
    static let origin: UInt8 = 1
    static let shownTime: UInt8 = 2
    static let lacksExtended: UInt8 = 4
  }

  var encoded: [UInt8] {
    var bytes = ByteWriter()
    bytes.append(kind.rawValue)
    var flags: UInt8 = 0
    if origin != nil { flags |= Flag.origin }
    if shownTime != nil { flags |= Flag.shownTime }
    if lacksExtended { flags |= Flag.lacksExtended }
    bytes.append(flags)
    if let origin { bytes.append(varint: UInt64(origin.rawValue)) }
    bytes.append(changed)
    if let shownTime { bytes.append(shownTime) }
    if kind != .directory { append(stored, to: &bytes) }
    attributes.encode(into: &bytes)
    return bytes.array
  }

  private func append(_ stored: StoredContent, to bytes: inout ByteWriter) {
    bytes.append(varint: stored.length)
    guard stored.length > 0 else { return }
    bytes.append(stored.digest)
    switch stored.content {
    case .none: bytes.append(0)
    case .inline(let inline):
      bytes.append(1)
      bytes.append(contentsOf: inline)
    case .chunk(let location): bytes.append(2, location)
    case .tree(let location): bytes.append(3, location)
    }
  }

  init?(decoding bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let rawKind = reader.integer(UInt8.self), let kind = EntryKind(rawValue: rawKind),
      let flags = reader.integer(UInt8.self), flags < 8
    else { return nil }
    var origin: VersionNumber?
    if flags & Flag.origin != 0 {
      guard let number = reader.varint(), number <= UInt64(UInt32.max) else { return nil }
      origin = VersionNumber(UInt32(number))
    }
    guard let changed = reader.time() else { return nil }
    var shownTime: Attributes.Time?
    if flags & Flag.shownTime != 0 {
      guard let time = reader.time() else { return nil }
      shownTime = time
    }
    var stored = StoredContent.none
    if kind != .directory {
      guard let content = reader.content() else { return nil }
      stored = content
    }
    guard let rest = reader.take(reader.remaining), let attributes = Attributes(decoding: rest)
    else { return nil }
    self.init(
      kind: kind, attributes: attributes, lacksExtended: flags & Flag.lacksExtended != 0,
      stored: stored, origin: origin, changed: changed, shownTime: shownTime)
  }
}

extension ByteWriter {
  fileprivate mutating func append(_ time: Attributes.Time) {
    append(bigEndian: time.seconds)
    append(bigEndian: time.nanoseconds)
  }
}

extension [UInt8] {
  /// Appends a location: u32 segment, u64 offset, u32 length.
  mutating func append(_ location: Location) {
    append(bigEndian: location.segment)
    append(bigEndian: location.offset)
    append(bigEndian: location.length)
  }
}

extension ByteReader {
  fileprivate mutating func time() -> Attributes.Time? {
    guard let seconds = integer(Int64.self), let nanoseconds = integer(UInt32.self),
      nanoseconds < 1_000_000_000
    else { return nil }
    return Attributes.Time(seconds: seconds, nanoseconds: nanoseconds)
  }

  fileprivate mutating func content() -> StoredContent? {
    guard let length = varint() else { return nil }
    guard length > 0 else { return StoredContent.none }
    guard let digest = digest(), let tag = integer(UInt8.self) else { return nil }
    switch tag {
    case 0: return StoredContent(length: length, digest: digest, content: .none)
    case 1:
      guard length <= UInt64(Entry.inlineLimit), let inline = take(Int(length)) else { return nil }
      return StoredContent(length: length, digest: digest, content: .inline(Array(inline)))
    case 2, 3:
      guard let location = location() else { return nil }
      return StoredContent(
        length: length, digest: digest, content: tag == 2 ? .chunk(location) : .tree(location))
    default: return nil
    }
  }
}
