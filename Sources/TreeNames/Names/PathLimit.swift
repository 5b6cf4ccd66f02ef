import LLVSCore

// How far names can lead. A key is 65,535 bytes at most, and each directory of its path is known by a path
// of its own: without a bound on their number one key of 64 KiB, "a/a/a/...", would take a gigabyte.

/// What a path may be at most: longer ones cannot be made, and what lies deeper is shown escaped.
package enum PathLimit {
  /// Names in a path: all that a path of 4,095 bytes can have, if each is four bytes with its slash.
  static let names = 1_024
  /// Bytes of a path that is made here: whatever they are, its key is not too long, though each is escaped.
  static let bytes = (Entry.maximumKeyLength - DisplacedName.prefix.count) / 3

  /// Where the longest beginning of a path ends whose components are names and not too many.
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

  /// Whether a name may follow those of a directory's path.
  package static func allowsName(below directory: [UInt8]) -> Bool {
    // So many names take at least so many bytes: nearly every path is told by its length.
    directory.count < 2 * names - 1 || directory.count { $0 == 0x2F } + 1 < names
  }

  /// Whether something can be put at a path.
  package static func allows(path: [UInt8]) -> Bool { allows(PathExtent(path: path)) }

  /// Whether something can be put at a path.
  package static func allows(_ path: PathExtent) -> Bool {
    path.names <= names && path.bytes <= bytes
  }
}

/// How many names and bytes a path has, slashes between them included.
package struct PathExtent: Hashable {
  package var names = 0
  package var bytes = 0

  package init() {}

  package init(name: some Collection<UInt8>) {
    (names, bytes) = (1, name.count)
  }

  /// Of a path without slashes at its ends, "" for none.
  package init(path: some Collection<UInt8>) {
    guard !path.isEmpty else { return }
    names = 1
    for byte in path where byte == 0x2F { names += 1 }
    bytes = path.count
  }

  /// Goes on with what is seen from the end of this path.
  package func adding(_ other: PathExtent) -> PathExtent {
    guard names > 0 else { return other }
    guard other.names > 0 else { return self }
    var sum = other
    sum.names += names
    sum.bytes += bytes + 1
    return sum
  }
}
