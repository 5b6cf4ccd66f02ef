/// A span of time in which one version was shown to programs: what a change made in it had seen.
///
/// An epoch begins when another version becomes the head. A table of the versioning says which version each
/// stands for.
package struct Epoch: Hashable, Comparable, Sendable {
  /// The number; later epochs have greater ones.
  package let rawValue: UInt64

  /// The epoch of a tree that shows its first head.
  package static let first = Epoch(1)

  /// Creates an epoch.
  package init(_ rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// The epoch after this one.
  package var next: Epoch { Epoch(rawValue + 1) }

  /// Returns true if the first epoch began before the second.
  package static func < (a: Epoch, b: Epoch) -> Bool { a.rawValue < b.rawValue }
}
