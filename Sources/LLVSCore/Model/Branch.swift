/// The name of a line of versions, compared as bytes.
package struct Branch: RawRepresentable, Hashable, Comparable, Sendable {
  package let rawValue: String

  package init(rawValue: String) { self.rawValue = rawValue }
  package static func == (a: Branch, b: Branch) -> Bool { a.rawValue.hasSameBytes(as: b.rawValue) }

  package func hash(into hasher: inout Hasher) { hasher.combine(utf8Of: rawValue) }

  package static func < (a: Branch, b: Branch) -> Bool {
    a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8)
  }
}
