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

  /// The finalizer of Sebastiano Vigna's SplitMix64: a hasher takes ten times as long, and only defends against chosen
  /// keys, while the store chooses the numbers.
  @inlinable package func _rawHashValue(seed: Int) -> Int {
    var mixed = (rawValue ^ UInt64(truncatingIfNeeded: seed)) &* 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ (mixed >> 32)) &* 0xbf58_476d_1ce4_e5b9
    return Int(truncatingIfNeeded: mixed ^ (mixed >> 29))
  }

  @inlinable package static func < (a: InodeNumber, b: InodeNumber) -> Bool {
    a.rawValue < b.rawValue
  }
}
