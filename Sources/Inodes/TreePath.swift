/// The path of a file or directory below the root of a tree, without slashes at its ends.
///
/// Paths are compared byte by byte, so a directory is before everything below it.
package struct TreePath: Hashable, Comparable, Sendable {
  /// The bytes; none for the root.
  package let bytes: [UInt8]

  /// The root's path.
  package static let root = TreePath([])

  package init(_ bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// True for the root's path.
  package var isRoot: Bool { bytes.isEmpty }

  /// The directory that holds this path; the root holds itself.
  package var parent: TreePath {
    guard let slash = bytes.lastIndex(of: 0x2F) else { return .root }
    return TreePath(bytes[..<slash])
  }

  /// The last name; it has no bytes for the root.
  package var name: FileName {
    FileName(bytes[(bytes.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0)...])
  }

  /// The names from the root down.
  package var names: [FileName] {
    bytes.isEmpty ? [] : bytes.split(separator: 0x2F).map { FileName($0) }
  }

  /// Returns the path of a name in this directory.
  package func appending(_ name: FileName) -> TreePath {
    isRoot ? TreePath(name.bytes) : TreePath(bytes + [0x2F] + name.bytes)
  }

  /// True if this path is `directory` or lies below it; everything lies below the root.
  package func isAtOrBelow(_ directory: TreePath) -> Bool {
    let above = directory.bytes
    return above.isEmpty
      || bytes.starts(with: above)
        && (bytes.count == above.count || bytes[above.count] == 0x2F)
  }

  /// Returns true if the first path is before the second in the order of bytes.
  package static func < (a: TreePath, b: TreePath) -> Bool {
    a.bytes.withUnsafeBytes { first in
      b.bytes.withUnsafeBytes { second in first.lexicographicallyPrecedes(second) }
    }
  }
}
