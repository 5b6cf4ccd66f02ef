/// A bucket, and the part of it that belongs to this remote.
package struct S3Location: Hashable, Sendable {
  package var isEncrypted = true
  /// Nil for Amazon's, which depends on the region.
  package var host: String?
  /// Nil for the scheme's own.
  package var port: UInt16?
  package var bucket: String
  /// Without slashes at its ends; empty for the whole bucket.
  package var prefix = ""

  func host(in region: String) -> String {
    guard let host else {
      // Amazon's names for its partition in China have another ending.
      return "s3.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
    }
    let isUsual = port == nil || port == (isEncrypted ? 443 : 80)
    return isUsual ? host : "\(host):\(port ?? 0)"
  }

  var scheme: String { isEncrypted ? "https" : "http" }
}
