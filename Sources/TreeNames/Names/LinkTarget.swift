import LLVSCore

/// The target that a symbolic link is shown with.
package enum LinkTarget {
  /// The longest target that the kernel accepts, in bytes.
  private static let limit = 4095

  /// Returns the target of a link as programs read it. Bytes with a NUL, which no target can have,
  /// are shown in escaped form: it begins with `%llvs%`, like escaped names, and leads nowhere.
  ///
  /// A program that stores values through the library can store a link with any bytes. Cut off at
  /// the NUL, such a target would lead to a place that its author did not mean.
  package static func shown(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(0) else { return bytes }
    return Array(KeyCoding.escaped(bytes).prefix(limit))
  }
}
