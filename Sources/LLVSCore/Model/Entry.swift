/// The place of a value's bytes in this store.
package enum Content: Hashable, Sendable {
  /// No bytes, or for a longer value bytes that this store never got: the peer had forgotten them.
  case none
  /// All bytes, in the map itself; at most ``Entry/inlineLimit``.
  case inline([UInt8])
  case chunk(Location)
  case tree(Location)
}

package struct StoredContent: Hashable, Sendable {
  package var length: UInt64
  package var digest: Digest
  package var content: Content

  package init(length: UInt64, digest: Digest, content: Content) {
    self.length = length
    self.digest = digest
    self.content = content
  }

  /// True if this store never got the bytes.
  package var isAbsent: Bool { length > 0 && content == .none }
}

/// One entry of a version's map: the value or directory at a key. Digest 1 covers `key`, `kind`, `length`,
/// `digest` and `attributes`; the other fields are local to this store.
package struct Entry: Hashable, Sendable {
  /// Values up to this many bytes are kept in the map itself.
  package static let inlineLimit = 128
  package var key: Key
  package var kind: EntryKind
  package var attributes: Attributes
  package var stored: StoredContent
  /// The version that stored the bytes: the second half of the value's reference.
  package var storedVersion: VersionNumber
  /// A number that changes with every change of bytes or attributes; inode numbers in history derive from it.
  package var revision: UInt64
  /// True if the entry lacks its long extended attributes; such an entry is never put into another map.
  package private(set) var isShortened = false

  package init(
    key: Key, kind: EntryKind, attributes: Attributes, stored: StoredContent,
    storedVersion: VersionNumber, revision: UInt64
  ) {
    self.key = key
    self.kind = kind
    self.attributes = attributes
    self.stored = stored
    self.storedVersion = storedVersion
    self.revision = revision
  }

  /// Extended attributes with more bytes than this count as long.
  package static let longAttributes = 512

  /// The entry without its extended attributes, except access control lists, if they are long.
  package var shortened: Entry {
    guard attributes.hasLongExtended else { return self }
    var short = self
    short.attributes.extended = attributes.extendedInShortened
    short.isShortened = true
    return short
  }

  var markedShortened: Entry {
    var short = self
    short.isShortened = true
    return short
  }

  /// True if the entry is a directory: it may have the same key as a value and sorts after it.
  package var isDirectory: Bool { kind == .directory }

  // The encoding of entries in digest 1: kind u8, u32 key length, key, u64 length, value digest, fields.

  /// The longest key that a store accepts, in bytes.
  package static let maximumKeyLength = 65_535

  func encodeContent(into bytes: inout ByteWriter) {
    bytes.append(kind.rawValue)
    bytes.append(bigEndian: UInt32(key.bytes.count))
    bytes.append(contentsOf: key.bytes)
    bytes.append(bigEndian: stored.length)
    bytes.append(stored.digest)
    attributes.encode(into: &bytes)
  }

  /// The SHA-256 of the entry's encoding: equal on every replica for equal content.
  package var contentDigest: Digest {
    var bytes = ByteWriter()
    encodeContent(into: &bytes)
    return bytes.withBytes { Digest.of($0) }
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
    case .none:
      // Shorter values are kept in the map, also of versions that are forgotten.
      if (1...UInt64(Self.inlineLimit)).contains(stored.length) { return "bytes without a place" }
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
