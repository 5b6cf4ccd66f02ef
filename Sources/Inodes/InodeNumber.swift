import LLVSCore

/// The number of an inode of the working tree: st_ino, d_ino and the node id that the kernel uses.
///
/// Numbers come from the store's counter and are not used again before ``renewal``. Comparing and hashing are
/// inlinable: numbers are the keys of most maps of a working tree.
@usableFromInline
package struct InodeNumber: Hashable, Comparable, Sendable {
  /// The number.
  @usableFromInline package let rawValue: UInt64

  /// The root directory's number.
  package static let root = InodeNumber(1)
  /// The first number that no store hands out: numbers from here on come from damaged or forged data.
  package static let limit = InodeNumber(Store.inodeLimit)
  /// The first number at which the next mount gives all inodes small numbers again. Enough numbers remain until then.
  package static let renewal = InodeNumber(Store.inodeLimit / 2)

  @inlinable package init(_ rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Returns true if both are the same number.
  @inlinable package static func == (a: InodeNumber, b: InodeNumber) -> Bool {
    a.rawValue == b.rawValue
  }

  /// Feeds the number to a hasher.
  @inlinable package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

  /// Returns true if the first number was handed out before the second.
  @inlinable package static func < (a: InodeNumber, b: InodeNumber) -> Bool {
    a.rawValue < b.rawValue
  }
}
