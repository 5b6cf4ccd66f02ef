/// Bounds of versions and changes that every replica takes from another.
package enum ExchangeLimits {
  /// Bytes of a key.
  package static let keyLength = 65_535
  /// Bytes of the name of a piece of metadata.
  package static let metadataKeyLength = 4096
  /// Pieces of metadata of one version.
  package static let metadataCount = 4096
  /// Bytes of all metadata of one version; 16 MiB of attributes pack to about one.
  package static let metadataLength = 128 << 20
  /// Absolute values of timestamps, in seconds, stay below this: 272 years on either side of 2001.
  package static let timestamp = 0x1p33
}
