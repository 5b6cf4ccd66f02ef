/// The place of a change in the order of all changes of a working tree.
package struct ChangeStamp: Hashable, Comparable, Sendable {
  /// The number; later changes have greater ones.
  package let rawValue: UInt64

  /// Before all changes.
  package static let start = ChangeStamp(0)

  package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// The stamp of the next change.
  package var next: ChangeStamp { ChangeStamp(rawValue + 1) }

  /// Returns true if the first change was made before the second.
  package static func < (a: ChangeStamp, b: ChangeStamp) -> Bool { a.rawValue < b.rawValue }
}
