/// The name of a line of versions, compared as bytes.
package struct Branch: RawRepresentable, Hashable, Comparable, Sendable {
  /// The name as spelled.
  package let rawValue: String

  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Returns true if both names are the same, byte for byte.
  package static func == (a: Branch, b: Branch) -> Bool {
    a.rawValue.hasSameBytes(as: b.rawValue)
  }

  /// Feeds the hasher with the bytes that ``==`` compares.
  package func hash(into hasher: inout Hasher) {
    for byte in rawValue.utf8 { hasher.combine(byte) }
  }

  /// Returns true if the first name is before the second, byte by byte.
  package static func < (a: Branch, b: Branch) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}
