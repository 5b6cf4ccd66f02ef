/// A name that pending changes have for a version of the store. Each head that changes what programs see begins an
/// epoch; ``TreeState`` has the version of each epoch in use.
package struct Epoch: Hashable, Comparable, Sendable {
  package let rawValue: UInt64
  package static let first = Epoch(1)
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package var next: Epoch { Epoch(rawValue + 1) }
  package static func < (a: Epoch, b: Epoch) -> Bool { a.rawValue < b.rawValue }
}

extension Epoch? {
  /// nil is the version that the tree shows, the newest.
  package func older(_ other: Epoch?) -> Epoch? {
    guard let self, let other else { return self ?? other }
    return Swift.min(self, other)
  }
}
