import LLVSCore

/// The number of an inode of the working tree: st_ino, d_ino and the kernel's node id. Numbers are not reused
/// before ``renewal``. Comparing and hashing are inlinable, because numbers are the keys of most maps.
@usableFromInline
package struct InodeNumber: Hashable, Comparable, Sendable {
  @usableFromInline package let rawValue: UInt64
  package static let root = InodeNumber(1)
  /// Numbers from here on come from damaged or forged data.
  package static let limit = InodeNumber(Store.inodeLimit)
  /// From here on the next mount gives all inodes small numbers again.
  package static let renewal = InodeNumber(Store.inodeLimit / 2)

  @inlinable package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  @inlinable package static func == (a: InodeNumber, b: InodeNumber) -> Bool {
    a.rawValue == b.rawValue
  }

  @inlinable package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

  /// As a plain number, which takes a third of the time of a hasher.
  @inlinable package func _rawHashValue(seed: Int) -> Int { rawValue._rawHashValue(seed: seed) }

  @inlinable package static func < (a: InodeNumber, b: InodeNumber) -> Bool {
    a.rawValue < b.rawValue
  }
}
