internal import Foundation

// Ids (docs/merging.md, M2, M3): random for authored versions, computed for automatic ones.

extension Version.MetadataKey {
  package static let digest = Version.MetadataKey("llvs.digest")
}

extension Version.ID {
  package static func random() -> Version.ID {
    var generator = SystemRandomNumberGenerator()
    return uuid(generator.next(), generator.next(), version: 4)
  }

  /// Returns the id of an automatic version: a merge or, without a second predecessor, a repair. The `first`
  /// predecessor of a merge has the smaller id; for `metadataDigest` see ``Version/metadataDigest(_:unpacking:)``.
  package static func automaticMerge(
    first: Version.ID, second: Version.ID?, contentDigest: Digest, metadataDigest: Digest
  ) -> Version.ID {
    var hasher = SHA256Hasher()
    func part(_ bytes: [UInt8]) {
      hasher.update(bigEndian: UInt32(bytes.count))
      hasher.update(bytes)
    }
    part(Array("llvs merge 1".utf8))
    part(Array(first.rawValue.utf8))
    part(Array((second?.rawValue ?? "").utf8))
    part(contentDigest.bytes)
    part(metadataDigest.bytes)
    let words = hasher.finish().words
    return uuid(words.0, words.1, version: 8)
  }

  /// True if the id has the form of an automatic version's: a UUID of version 8. The check saves hashing authored
  /// versions.
  package var mayBeAutomatic: Bool {
    let bytes = rawValue.utf8
    return bytes.count == 36 && bytes.dropFirst(14).first == UInt8(ascii: "8")
  }

  private static func uuid(_ high: UInt64, _ low: UInt64, version: UInt64) -> Version.ID {
    uuid(high & ~0xF000 | version << 12, low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }

  /// Returns 16 bytes as an upper-case UUID.
  package static func uuid(_ high: UInt64, _ low: UInt64) -> Version.ID {
    let uuid = withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { $0.load(as: uuid_t.self) }
    return Version.ID(UUID(uuid: uuid).uuidString)
  }
}

extension Version {
  /// Returns the SHA-256 over keys and values in the order of keys; the content digest is left out.
  ///
  /// `unpack` decompresses compressed values and returns others as they are.
  package static func metadataDigest(
    _ metadata: Metadata, unpack: (MetadataKey, [UInt8]) -> [UInt8] = { $1 }
  ) -> Digest {
    var hasher = SHA256Hasher()
    for (key, value) in metadata.sorted(by: { $0.key < $1.key }) where key != .digest {
      let name = Array(key.rawValue.utf8)
      let bytes = unpack(key, value.data)
      hasher.update(bigEndian: UInt32(name.count))
      hasher.update(name)
      hasher.update(bigEndian: UInt32(truncatingIfNeeded: bytes.count))
      hasher.update(bytes)
    }
    return hasher.finish()
  }
}
