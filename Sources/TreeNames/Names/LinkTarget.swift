import LLVSCore

package enum LinkTarget {
  /// The longest target of the kernel, in bytes.
  private static let limit = 4095

  /// Returns the target for programs. A target with a NUL, possible with the library, is escaped, because the part
  /// before the NUL would be another place.
  package static func shown(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(0) else { return bytes }
    return Array(KeyCoding.escaped(bytes).prefix(limit))
  }
}
