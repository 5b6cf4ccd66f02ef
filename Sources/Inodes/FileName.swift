/// The name of an entry of a directory: any bytes but "/" and NUL.
package struct FileName: Hashable, Comparable, Sendable {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }
  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = [UInt8](bytes) }
  package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// Feeds the bytes to a hasher at once.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(bytes.count)
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }

  package static func < (a: FileName, b: FileName) -> Bool {
    a.bytes.lexicographicallyPrecedes(b.bytes)
  }
}
