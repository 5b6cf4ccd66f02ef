/// The number of a version in this store, in the order in which versions were stored, from 1: local, dense,
/// never reused; a version's predecessors have smaller numbers.
package struct VersionNumber: Hashable, Comparable, Sendable {
  package let rawValue: UInt32

  package init(_ rawValue: UInt32) { self.rawValue = rawValue }
  package static func < (a: VersionNumber, b: VersionNumber) -> Bool { a.rawValue < b.rawValue }
}

package struct Location: Hashable, Sendable {
  package let segment: UInt32
  package let length: UInt32
  package let offset: UInt64

  package init(segment: UInt32, offset: UInt64, length: UInt32) {
    self.segment = segment
    self.offset = offset
    self.length = length
  }

  /// Hashes only the beginning, because no two records begin at the same place.
  package func hash(into hasher: inout Hasher) { hasher.combine(offset ^ UInt64(segment) << 40) }
}
