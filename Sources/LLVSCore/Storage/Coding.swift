extension ByteReader {
  var isAtEnd: Bool { remaining == 0 }
  mutating func bytes(_ count: Int) -> [UInt8]? { take(count).map { Array($0) } }

  mutating func storedContent() -> StoredContent? {
    guard let tag = integer(UInt8.self), let length = integer(UInt64.self), let digest = digest()
    else { return nil }
    let content: Content
    switch tag {
    case 0: content = .none
    case 1:
      guard length <= UInt64(Entry.inlineLimit), let bytes = bytes(Int(length)) else { return nil }
      content = .inline(bytes)
    case 2:
      guard let location = location() else { return nil }
      content = .chunk(location)
    case 3:
      guard let location = location() else { return nil }
      content = .tree(location)
    default: return nil
    }
    return StoredContent(length: length, digest: digest, content: content)
  }

  mutating func mapRoot() -> MapRoot? {
    guard let hasNode = integer(UInt8.self), hasNode <= 1 else { return nil }
    var place: Location?
    if hasNode == 1 {
      guard let found = location() else { return nil }
      place = found
    }
    guard let digest = digest(), let count = integer(UInt64.self) else { return nil }
    return MapRoot(location: place, digest: digest, count: count)
  }
}

extension [UInt8] {
  mutating func append(_ location: Location) {
    append(bigEndian: location.segment)
    append(bigEndian: location.offset)
    append(bigEndian: location.length)
  }

  mutating func append(_ stored: StoredContent) {
    switch stored.content {
    case .none: append(0 as UInt8)
    case .inline: append(1 as UInt8)
    case .chunk: append(2 as UInt8)
    case .tree: append(3 as UInt8)
    }
    append(bigEndian: stored.length)
    append(stored.digest)
    switch stored.content {
    case .none: break
    case .inline(let bytes): append(contentsOf: bytes)
    case .chunk(let location), .tree(let location): append(location)
    }
  }

  mutating func append(_ root: MapRoot) {
    append((root.location == nil ? 0 : 1) as UInt8)
    if let location = root.location { append(location) }
    append(root.digest)
    append(bigEndian: root.count)
  }
}

extension MapRoot {
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(self)
    return bytes
  }
}

extension StoredContent {
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(self)
    return bytes
  }
}

extension [UInt8] {
  /// Parses all bytes with a reader; nil if bytes are missing or left over.
  func parsed<Value>(_ body: (inout ByteReader) -> Value?) -> Value? {
    withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      guard let value = body(&reader), reader.isAtEnd else { return nil }
      return value
    }
  }
}

extension Version {
  /// Encodes metadata for the catalog: count, then (length, key, length, value) in the order of keys.
  static func encode(_ metadata: Metadata) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt32(metadata.count))
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
      let name = Array(key.rawValue.utf8)
      bytes.append(bigEndian: UInt32(name.count))
      bytes += name
      bytes.append(bigEndian: UInt32(value.data.count))
      bytes += value.data
    }
    return bytes
  }

  static func decodeMetadata(_ bytes: [UInt8]) -> Metadata? {
    bytes.parsed { reader in
      guard let count = reader.integer(UInt32.self) else { return nil }
      var metadata: Metadata = [:]
      for _ in 0..<count {
        guard let nameLength = reader.integer(UInt32.self),
          let name = reader.bytes(Int(nameLength)),
          let length = reader.integer(UInt32.self), let value = reader.bytes(Int(length))
        else { return nil }
        metadata[MetadataKey(String(decoding: name, as: UTF8.self))] = MetadataValue(data: value)
      }
      return metadata
    }
  }
}
