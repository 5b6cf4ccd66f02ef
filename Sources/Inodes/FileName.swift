/// The name of an entry of a directory: bytes, of which only "/" and NUL are excluded.
///
/// Names that look alike but have other bytes are different names.
package struct FileName: Hashable, Comparable, Sendable {
  /// The bytes, without a slash.
  package let bytes: [UInt8]

  /// Creates a name.
  package init(_ bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// Returns true if the first name is before the second in the order of bytes.
  package static func < (a: FileName, b: FileName) -> Bool {
    a.bytes.lexicographicallyPrecedes(b.bytes)
  }
}
