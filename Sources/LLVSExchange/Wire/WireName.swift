package import LLVSCore

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
