// The metadata `llvs.document` of a version that holds what was read from a document: one zstd frame, or several
// in `.1`, `.2` ... of the same version, each of at most 16 MiB unpacked:
//
// u8 format 1 || u16 length, directory || u16 layer || application || u32 count, authors || u32 count, keys
// application: u8 0, or 1 || u16 length, id || i64 major || i64 minor || u8 0, or 1 || u16 length, description
// author: 16 bytes id || i64 number || u16 length, name
// key: u32 length, key || u16 count, values
// value: u32 index of the author || i64 number || u8 type || i64 milliseconds since 1970

extension Version.MetadataKey {
  package static let document = Version.MetadataKey("llvs.document")
}

/// A version's metadata about the document of its values: the joined values of its changed keys.
package struct DocumentRecord: Hashable, Sendable {
  /// A key with all its values, the shown one first.
  package struct Item: Hashable, Sendable {
    package var key: Key
    package var values: [DocumentValue]

    package init(key: Key, values: [DocumentValue]) {
      self.key = key
      self.values = values
    }
  }

  /// An author whose writes the document knows.
  package struct Author: Hashable, Sendable {
    package var id: DocumentAuthor
    package var usn: Int64
    package var name: [UInt8]

    package init(id: DocumentAuthor, usn: Int64, name: [UInt8]) {
      self.id = id
      self.usn = usn
      self.name = name
    }
  }

  package var directory: DocumentDirectory
  /// The index, from 0, of the value of each key that the version holds; keys with fewer are as in its predecessor.
  package var layer: Int
  package var application: DocumentApplication?
  /// The new authors, and those with new writes.
  package var authors: [Author]
  package var items: [Item]

  package init(
    directory: DocumentDirectory, layer: Int, application: DocumentApplication?,
    authors: [Author], items: [Item]
  ) {
    self.directory = directory
    self.layer = layer
    self.application = application
    self.authors = authors
    self.items = items
  }

  private static let format: UInt8 = 1
  private static let frameLength = AttributeList.frameLength
  private static let maximumFrames = 64
  private static let unknownName: [UInt8] = []

  private static func metadataKey(_ index: Int) -> Version.MetadataKey {
    index == 0 ? .document : Version.MetadataKey("llvs.document.\(index)")
  }

  package func add(to metadata: inout Version.Metadata) throws(StoreError) {
    var frames: [[UInt8]] = []
    var writer = try FrameWriter(self)
    func append(_ write: (inout FrameWriter) throws(StoreError) -> Void) throws(StoreError) {
      if writer.length > Self.frameLength / 2 {
        frames.append(try Zstd.pack(try writer.bytes()))
        writer = try FrameWriter(self)
      }
      try write(&writer)
    }
    for author in authors { try append { (frame) throws(StoreError) in try frame.append(author) } }
    for item in items { try append { (frame) throws(StoreError) in try frame.append(item) } }
    frames.append(try Zstd.pack(try writer.bytes()))
    guard frames.count <= Self.maximumFrames else {
      throw .invalid("a document that changed in more places than a version can carry")
    }
    for (index, frame) in frames.enumerated() {
      metadata[Self.metadataKey(index)] = Version.MetadataValue(data: frame)
    }
  }

  private struct FrameWriter {
    private var head: [UInt8] = []
    private var indices: [DocumentAuthor: UInt32] = [:]
    private var authors: [UInt8] = []
    private var keys: [UInt8] = []
    private var keyCount: UInt32 = 0

    init(_ record: DocumentRecord) throws(StoreError) {
      head.append(DocumentRecord.format)
      try Self.append(record.directory.path, to: &head)
      guard let layer = UInt16(exactly: record.layer) else {
        throw .invalid("a key of a document with more than 65,535 values")
      }
      head.append(bigEndian: layer)
      if let application = record.application {
        head.append(1)
        try Self.append(application.id, to: &head)
        head.append(bigEndian: application.major)
        head.append(bigEndian: application.minor)
        if let description = application.description {
          head.append(1)
          try Self.append(description, to: &head)
        } else {
          head.append(0)
        }
      } else {
        head.append(0)
      }
    }

    private static func append(_ text: [UInt8], to bytes: inout [UInt8]) throws(StoreError) {
      guard let count = UInt16(exactly: text.count) else {
        throw .invalid("a name of more than 65,535 bytes in a document")
      }
      bytes.append(bigEndian: count)
      bytes.append(contentsOf: text)
    }

    var length: Int { head.count + authors.count + keys.count }

    mutating func append(_ author: Author) throws(StoreError) {
      indices[author.id] = UInt32(indices.count)
      authors.append(contentsOf: author.id.bytes)
      authors.append(bigEndian: author.usn)
      try Self.append(author.name, to: &authors)
    }

    mutating func append(_ item: Item) throws(StoreError) {
      for value in item.values where indices[value.dot.author] == nil {
        // The number alone names it; 0 adds nothing to the known writes.
        try append(Author(id: value.dot.author, usn: 0, name: DocumentRecord.unknownName))
      }
      guard let count = UInt16(exactly: item.values.count) else {
        throw .invalid("a key of a document with more than 65,535 values")
      }
      keyCount += 1
      keys.append(bigEndian: UInt32(item.key.bytes.count))
      keys.append(contentsOf: item.key.bytes)
      keys.append(bigEndian: count)
      for value in item.values {
        keys.append(bigEndian: indices[value.dot.author] ?? 0)
        keys.append(bigEndian: value.dot.usn)
        keys.append(value.isRemoval ? 0 : value.type ?? DocumentRecord.ownType)
        keys.append(bigEndian: value.time)
      }
    }

    func bytes() throws(StoreError) -> [UInt8] {
      var bytes = head
      bytes.append(bigEndian: UInt32(indices.count))
      bytes += authors
      bytes.append(bigEndian: keyCount)
      bytes += keys
      guard bytes.count <= DocumentRecord.frameLength else {
        throw .invalid("a key of a document with more values than a version can carry")
      }
      return bytes
    }
  }

  /// The type of a value that a version wrote; its file has the real type.
  fileprivate static let ownType: UInt8 = 255

  /// Reads the record of a version; nil where it has none or one that cannot be read.
  package init?(_ metadata: Version.Metadata) {
    guard var record = Self.frame(metadata, 0) else { return nil }
    for index in 1..<Self.maximumFrames {
      guard metadata[Self.metadataKey(index)] != nil else { break }
      guard let more = Self.frame(metadata, index), more.directory == record.directory,
        more.layer == record.layer
      else { return nil }
      record.authors += more.authors
      record.items += more.items
    }
    self = record
  }

  private static func frame(_ metadata: Version.Metadata, _ index: Int) -> DocumentRecord? {
    guard let value = metadata[metadataKey(index)],
      let bytes = Zstd.unpack(value.data, atMost: frameLength)
    else { return nil }
    return bytes.parsed { read(&$0) }
  }

  private static func read(_ reader: inout ByteReader) -> DocumentRecord? {
    guard reader.integer(UInt8.self) == format, let path = text(&reader),
      let layer = reader.integer(UInt16.self), let hasApplication = reader.integer(UInt8.self)
    else { return nil }
    var application: DocumentApplication?
    if hasApplication == 1 {
      guard let id = text(&reader), let major = reader.integer(Int64.self),
        let minor = reader.integer(Int64.self), let hasDescription = reader.integer(UInt8.self)
      else { return nil }
      var description: [UInt8]?
      if hasDescription == 1 {
        guard let words = text(&reader) else { return nil }
        description = words
      }
      application = DocumentApplication(
        id: id, major: major, minor: minor, description: description)
    }
    guard let authorCount = reader.integer(UInt32.self), authorCount <= reader.remaining / 26
    else { return nil }
    var authors: [Author] = []
    authors.reserveCapacity(Int(authorCount))
    for _ in 0..<authorCount {
      guard let id = reader.take(16).flatMap({ DocumentAuthor(bytes: $0) }),
        let usn = reader.integer(Int64.self), usn >= 0, let name = text(&reader)
      else { return nil }
      authors.append(Author(id: id, usn: usn, name: name))
    }
    guard let keyCount = reader.integer(UInt32.self), keyCount <= reader.remaining / 6 else {
      return nil
    }
    var items: [Item] = []
    items.reserveCapacity(Int(keyCount))
    for _ in 0..<keyCount {
      guard let item = item(&reader, authors) else { return nil }
      items.append(item)
    }
    return DocumentRecord(
      directory: DocumentDirectory(path: path), layer: Int(layer), application: application,
      authors: authors, items: items)
  }

  private static func item(_ reader: inout ByteReader, _ authors: [Author]) -> Item? {
    guard let length = reader.integer(UInt32.self), length <= Entry.maximumKeyLength,
      let key = reader.take(Int(length)), let count = reader.integer(UInt16.self)
    else { return nil }
    var values: [DocumentValue] = []
    for _ in 0..<count {
      guard let index = reader.integer(UInt32.self), index < authors.count,
        let usn = reader.integer(Int64.self), usn > 0, let type = reader.integer(UInt8.self),
        let time = reader.integer(Int64.self)
      else { return nil }
      values.append(
        DocumentValue(
          dot: DocumentDot(author: authors[Int(index)].id, usn: usn), holder: nil,
          isRemoval: type == 0, type: type == ownType ? nil : type, time: time))
    }
    return Item(key: Key(bytes: Array(key)), values: values)
  }

  private static func text(_ reader: inout ByteReader) -> [UInt8]? {
    reader.integer(UInt16.self).flatMap { reader.take(Int($0)) }.map { Array($0) }
  }
}
