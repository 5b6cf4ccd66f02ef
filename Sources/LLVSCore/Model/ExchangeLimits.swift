/// Bounds of versions and changes that every replica accepts from another; lengths are in bytes.
package enum ExchangeLimits {
  package static let keyLength = 65_535
  package static let metadataKeyLength = 4096
  package static let metadataCount = 4096
  /// The greatest length of all metadata of one version; 16 MiB of attributes are compressed to about one.
  package static let metadataLength = 128 << 20
  /// The bound of the absolute value of a timestamp, in seconds: 272 years on either side of 2001.
  package static let timestamp = 0x1p33
}
