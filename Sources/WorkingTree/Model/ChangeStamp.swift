/// The place of a change in the order of all changes of a working tree; later changes have greater ones.
package struct ChangeStamp: Hashable, Comparable, Sendable {
  package let rawValue: UInt64
  package static let start = ChangeStamp(0)
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package var next: ChangeStamp { ChangeStamp(rawValue + 1) }
  package static func < (a: ChangeStamp, b: ChangeStamp) -> Bool { a.rawValue < b.rawValue }
}
