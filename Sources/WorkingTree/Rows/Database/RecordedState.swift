package import LLVSCore

/// The head whose tree the rows are, and its store.
package struct RecordedState: Hashable, Sendable {
  /// 16 bytes.
  package var storeID: [UInt8]
  /// The number of the cut that set the head.
  package var cut: Int64
  /// The head's id; nil for a store without versions.
  package var version: Version.ID?
  package var root: MapRoot
  /// The number of names of values and directories.
  var values: Int64 = 0
  var directories: Int64 = 0
  var hashKey: UInt64

  package init(storeID: [UInt8], cut: Int64, version: Version.ID?, root: MapRoot) {
    self.storeID = storeID
    self.cut = cut
    self.version = version
    self.root = root
    var random = SystemRandomNumberGenerator()
    hashKey = random.next()
  }

  /// u8 1 and the location of the root's node, or u8 0; digest; u64 count.
  var encodedRoot: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append((root.location == nil ? 0 : 1) as UInt8)
    if let location = root.location { bytes.append(location) }
    bytes.append(root.digest)
    bytes.append(bigEndian: root.count)
    return bytes
  }

  static func root(decoding bytes: [UInt8]) -> MapRoot? {
    bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      guard let hasNode = reader.integer(UInt8.self), hasNode <= 1 else { return nil }
      var location: Location?
      if hasNode == 1 {
        guard let found = reader.location() else { return nil }
        location = found
      }
      guard let digest = reader.digest(), let count = reader.integer(UInt64.self),
        reader.remaining == 0
      else { return nil }
      return MapRoot(location: location, digest: digest, count: count)
    }
  }
}
