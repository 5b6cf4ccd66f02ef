/// Version ids as names of files on the wire.
package enum WireName {
  /// The longest id that is taken, in bytes; it has to be a file's name with room for a temporary's.
  package static let maximumLength = 200

  /// Why an id cannot be the name of a file; nil if it can.
  package static func fault(of id: Version.ID) -> String? {
    let bytes = id.rawValue.utf8
    if bytes.isEmpty { return "an empty version id" }
    if bytes.count > maximumLength { return "a version id over \(maximumLength) bytes" }
    if bytes.first == UInt8(ascii: ".") { return "a version id that begins with \".\"" }
    if bytes.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "/") || $0 == 0x7F }) {
      return "a version id with \"/\" or a control character"
    }
    return nil
  }
}

/// Bounds of what is read from the wire into memory.
package enum WireLimits {
  package static let keyLength = 65_535
  package static let metadataKeyLength = 4096
  package static let metadataCount = 4096
  /// All metadata of one version; 16 MiB of attributes pack to about one.
  package static let metadataLength = 128 << 20
  /// Absolute values of timestamps stay below this: 272 years on either side of 2001.
  package static let timestamp = 0x1p33
}
