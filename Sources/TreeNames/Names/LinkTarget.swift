import LLVSCore

package enum LinkTarget {
  /// The longest target of the kernel, in bytes.
  private static let limit = 4095

  /// Returns the target as programs read it. Bytes with a NUL, which the library can store, are shown escaped,
  /// because the part before the NUL would lead to another place.
  package static func shown(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(0) else { return bytes }
    return Array(KeyCoding.escaped(bytes).prefix(limit))
  }
}
