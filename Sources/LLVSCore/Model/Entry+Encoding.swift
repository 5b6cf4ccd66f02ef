// The encoding of entries in digest 1: kind u8, u32 key length, key, u64 length, value digest, fields.

extension Entry {
  /// The longest key that a store accepts, in bytes.
  package static let maximumKeyLength = 65_535

  func encodeContent(into bytes: inout [UInt8]) {
    bytes.append(kind.rawValue)
    bytes.append(bigEndian: UInt32(key.bytes.count))
    bytes.append(contentsOf: key.bytes)
    bytes.append(bigEndian: stored.length)
    bytes.append(stored.digest)
    attributes.encode(into: &bytes)
  }

  /// The SHA-256 of the entry's encoding: equal on every replica for equal content.
  package var contentDigest: Digest {
    var bytes: [UInt8] = []
    encodeContent(into: &bytes)
    return Digest.of(bytes)
  }

  package func hasSameContent(as other: Entry) -> Bool {
    key == other.key && kind == other.kind && stored.length == other.stored.length
      && stored.digest == other.stored.digest && attributes == other.attributes
  }

  package var fault: String? {
    if key.bytes.count > Self.maximumKeyLength {
      let beginning = String(decoding: key.bytes.prefix(200), as: UTF8.self)
      return "a key over \(Self.maximumKeyLength) bytes, which begins with \(beginning)"
    }
    switch stored.content {
    case .none: if stored.length != 0 { return "bytes without a place" }
    case .inline(let bytes):
      if bytes.isEmpty || bytes.count > Self.inlineLimit || stored.length != UInt64(bytes.count) {
        return "inline bytes of the wrong length"
      }
    case .chunk, .tree: if stored.length == 0 { return "a place without bytes" }
    }
    if isDirectory && stored.length != 0 { return "a directory with bytes" }
    return attributes.fault
  }
}
