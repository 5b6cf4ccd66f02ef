/// A name that pending changes have for a version of the store: of the head, or of an older one that something is made
/// on.
///
/// Each head that changes what programs see begins an epoch. ``TreeState`` has the version of each epoch in use.
package struct Epoch: Hashable, Comparable, Sendable {
  /// The number; later epochs have greater ones.
  package let rawValue: UInt64

  /// The epoch of a tree that shows its first head.
  package static let first = Epoch(1)

  package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// The epoch after this one.
  package var next: Epoch { Epoch(rawValue + 1) }

  /// Returns true if the first epoch began before the second.
  package static func < (a: Epoch, b: Epoch) -> Bool { a.rawValue < b.rawValue }
}

extension Epoch? {
  /// Returns the older of two epochs; nil stands for the version that the tree shows, the newest.
  package func older(_ other: Epoch?) -> Epoch? {
    guard let self, let other else { return self ?? other }
    return Swift.min(self, other)
  }
}
