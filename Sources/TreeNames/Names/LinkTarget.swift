import LLVSCore

/// The target that a symbolic link is shown with.
package enum LinkTarget {
  /// The most bytes that the kernel takes for one.
  private static let limit = 4095

  /// Returns the bytes of a link, or, where they hold a NUL and so can be no target, their escaped form: it begins
  /// with `%llvs%`, as that of names does, and leads nowhere.
  ///
  /// A program that stores bytes and no links can give a link any; the first of these up to the NUL would
  /// lead somewhere that nobody meant.
  package static func shown(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(0) else { return bytes }
    return Array(KeyCoding.escaped(bytes).prefix(limit))
  }
}
