package import LLVSCore

/// Version ids as names of files in an exchange.
package enum WireName {
  /// In bytes; a file's name may have 255, some of which are for a temporary suffix.
  package static let maximumLength = 200

  /// Returns the reason why an id cannot be a file's name; nil if it can.
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
