/// The name of an entry of a directory: bytes, of which only "/" and NUL are excluded.
///
/// Names that look alike but have other bytes are different names.
package struct FileName: Hashable, Comparable, Sendable {
  /// The bytes, without a slash.
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = [UInt8](bytes)
  }

  package init(_ bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// Feeds the bytes to a hasher at once; an array would feed them one by one.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(bytes.count)
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }

  /// Returns true if the first name is before the second in the order of bytes.
  package static func < (a: FileName, b: FileName) -> Bool {
    a.bytes.lexicographicallyPrecedes(b.bytes)
  }
}
