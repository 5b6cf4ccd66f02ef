// The lists of attributes in a version's metadata: "llvs.attributes" and "llvs.directories".
//
// Each list is one zstd frame of entries, or several, sorted by key: u32 length of the rest || kind u8 || u32 key
// length || key || fields. A frame holds at most 16 MiB unpacked; further frames are in ".1", ".2" ... of the same
// version.

/// The new attributes of one value or directory.
package struct AttributeItem: Hashable, Sendable {
  package var key: Key
  /// Nil for a directory that was removed.
  package var kind: EntryKind?
  package var attributes: Attributes
}

package enum AttributeList: String, Sendable {
  case values = "llvs.attributes"
  case directories = "llvs.directories"

  package static let frameLength = 16 << 20
  package static let maximumFrames = 64
  /// The greatest length of all extended attributes of a version from a peer, names included, in bytes: a short
  /// metadata may unpack to long attributes, and the map holds them unpacked.
  package static let maximumExtended = 512 << 20
  /// The same bound for a version made here, whose attributes may not be compressible.
  package static let ownExtended = 96 << 20
  fileprivate static let removed: UInt8 = 255

  package func metadataKey(_ index: Int) -> Version.MetadataKey {
    Version.MetadataKey(index == 0 ? rawValue : "\(rawValue).\(index)")
  }

  fileprivate func holds(_ kind: EntryKind?) -> Bool {
    switch self {
    case .values: kind != nil && kind != .directory
    case .directories: kind == nil || kind == .directory
    }
  }

  package static func isFrame(_ key: Version.MetadataKey) -> Bool {
    for list in [AttributeList.values, .directories] {
      guard key.rawValue.hasPrefix(list.rawValue) else { continue }
      let rest = key.rawValue.dropFirst(list.rawValue.count)
      if rest.isEmpty || rest.first == "." && Int(rest.dropFirst()) != nil { return true }
    }
    return false
  }

  /// Returns the unpacked bytes of a frame; nil if it is damaged or too long.
  package static func unpack(_ value: Version.MetadataValue) -> [UInt8]? {
    Zstd.unpack(value.data, atMost: frameLength)
  }
}

/// Packs one list into metadata. Items are appended in ascending order of keys.
package struct AttributeWriter {
  private let list: AttributeList
  private let frameLength: Int
  private var frame: [UInt8] = []
  private var frames: [[UInt8]] = []
  private var last: Key?

  /// Begins a new frame when one has `frameLength` bytes.
  package init(_ list: AttributeList, frameLength: Int = AttributeList.frameLength) {
    self.list = list
    self.frameLength = frameLength
  }

  /// Appends an item; throws ``StoreError/invalid(_:)`` if it is too long, out of order or of the other list.
  package mutating func append(_ item: AttributeItem) throws(StoreError) {
    guard list.holds(item.kind), last.map({ $0 < item.key }) ?? true else {
      throw .invalid("attributes out of order")
    }
    if let fault = item.attributes.fault { throw .invalid(fault) }
    last = item.key
    var entry: [UInt8] = []
    entry.append(item.kind?.rawValue ?? AttributeList.removed)
    entry.append(bigEndian: UInt32(item.key.bytes.count))
    entry.append(contentsOf: item.key.bytes)
    entry += item.attributes.encoded
    guard entry.count + 4 <= AttributeList.frameLength else {
      throw .invalid("attributes of more than \(AttributeList.frameLength) bytes")
    }
    if !frame.isEmpty, frame.count + entry.count + 4 > frameLength { try closeFrame() }
    frame.append(bigEndian: UInt32(entry.count))
    frame.append(contentsOf: entry)
  }

  private mutating func closeFrame() throws(StoreError) {
    guard frames.count < AttributeList.maximumFrames else {
      throw .invalid("attributes that changed in more places than a version can carry")
    }
    frames.append(try Zstd.pack(frame))
    frame = []
  }

  /// Adds the frames to a version's metadata; no frame if nothing was appended.
  package mutating func finish(into metadata: inout Version.Metadata) throws(StoreError) {
    if !frame.isEmpty { try closeFrame() }
    for (index, frame) in frames.enumerated() {
      metadata[list.metadataKey(index)] = Version.MetadataValue(data: frame)
    }
  }
}

/// Reads one list out of metadata, one frame in memory at a time.
package struct AttributeReader {
  private let list: AttributeList
  private let metadata: Version.Metadata
  private var index = 0
  private var frame: [UInt8] = []
  private var offset = 0
  private var last: Key?

  package init(_ list: AttributeList, of metadata: Version.Metadata) {
    self.list = list
    self.metadata = metadata
  }

  private func malformed(_ reason: String) -> StoreError {
    .invalid("\(list.metadataKey(max(0, index - 1)).rawValue): \(reason)")
  }

  /// Returns the next item in ascending order of keys; nil at the end.
  package mutating func next() throws(StoreError) -> AttributeItem? {
    while offset == frame.count {
      let value = metadata[list.metadataKey(index)]
      index += 1
      guard let value else { return try end() }
      guard index <= AttributeList.maximumFrames else { throw malformed("too many frames") }
      guard let unpacked = AttributeList.unpack(value) else {
        throw malformed("what is there does not unpack")
      }
      frame = unpacked
      offset = 0
    }
    let parsed = frame.withUnsafeBytes { bytes -> (AttributeItem, Int)? in
      var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
      guard let length = reader.integer(UInt32.self), let entry = reader.take(Int(length)) else {
        return nil
      }
      return AttributeReader.item(entry).map { ($0, 4 + Int(length)) }
    }
    guard let (item, length) = parsed, list.holds(item.kind) else {
      throw malformed("an entry is malformed")
    }
    guard last.map({ $0 < item.key }) ?? true else { throw malformed("entries out of order") }
    last = item.key
    offset += length
    return item
  }

  private func end() throws(StoreError) -> AttributeItem? {
    for key in metadata.keys
    where AttributeList.isFrame(key) && key.rawValue.hasPrefix(list.rawValue) {
      guard !(0..<index).contains(where: { list.metadataKey($0) == key }) else { continue }
      throw malformed("\(key.rawValue) follows a gap")
    }
    return nil
  }

  private static func item(_ bytes: UnsafeRawBufferPointer) -> AttributeItem? {
    var reader = ByteReader(bytes)
    guard let tag = reader.integer(UInt8.self), let length = reader.integer(UInt32.self),
      length <= Entry.maximumKeyLength, let key = reader.take(Int(length)),
      let fields = reader.take(reader.remaining), let attributes = Attributes(decoding: fields)
    else { return nil }
    let kind = EntryKind(rawValue: tag)
    guard kind != nil || tag == AttributeList.removed && fields.isEmpty,
      String(validating: key, as: UTF8.self) != nil
    else { return nil }
    return AttributeItem(key: Key(bytes: Array(key)), kind: kind, attributes: attributes)
  }
}
