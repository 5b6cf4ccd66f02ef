import LLVSCore

// The tree keeps the full path of each directory: without a limit on the number of names, one key of 64 KiB,
// "a/a/a/...", would need a gigabyte.

/// The longest path; deeper keys are shown under escaped names.
package enum PathLimit {
  /// The most names in a path: as in 4,095 bytes of names with three bytes.
  static let names = 1_024
  /// The most bytes of a new path: its key is not too long even if every byte is escaped.
  static let bytes = (Entry.maximumKeyLength - DisplacedName.prefix.count) / 3

  /// Returns the end of the longest beginning of a path that has valid names and not too many.
  package static func reach(of path: ArraySlice<UInt8>) -> Int {
    var start = path.startIndex
    var count = 0
    while count < names {
      let end = path[start...].firstIndex(of: 0x2F) ?? path.endIndex
      guard DisplacedName.isName(path[start..<end]) else { break }
      guard end < path.endIndex else { return end }
      start = end + 1
      count += 1
    }
    return max(path.startIndex, start - 1)
  }

  /// True if a directory's path may have one more name.
  package static func allowsName(below directory: [UInt8]) -> Bool {
    // For nearly every path the length is enough.
    directory.count < 2 * names - 1 || directory.count { $0 == 0x2F } + 1 < names
  }

  /// True if a file or directory can be made at a path.
  package static func allows(path: [UInt8]) -> Bool { allows(PathExtent(path: path)) }

  package static func allows(_ path: PathExtent) -> Bool {
    path.names <= names && path.bytes <= bytes
  }
}

/// The number of names and bytes in a path, with slashes between the names.
package struct PathExtent: Hashable {
  package var names = 0
  package var bytes = 0

  package init(name: some Collection<UInt8>) { (names, bytes) = (1, name.count) }

  /// A path without slashes at its ends.
  package init(path: some Collection<UInt8>) {
    guard !path.isEmpty else { return }
    names = 1
    for byte in path where byte == 0x2F { names += 1 }
    bytes = path.count
  }

  package func adding(_ other: PathExtent) -> PathExtent {
    guard names > 0 else { return other }
    guard other.names > 0 else { return self }
    var sum = other
    sum.names += names
    sum.bytes += bytes + 1
    return sum
  }
}
