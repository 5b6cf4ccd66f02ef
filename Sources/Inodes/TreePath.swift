/// The path of a file or directory below the root of a tree, without slashes at its ends.
/// Paths are compared byte by byte, so a directory is before everything below it.
package struct TreePath: Hashable, Comparable, Sendable {
  package let bytes: [UInt8]
  package static let root = TreePath([])

  package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  package var isRoot: Bool { bytes.isEmpty }

  /// The directory of this path; the root's is itself.
  package var parent: TreePath {
    guard let slash = bytes.lastIndex(of: 0x2F) else { return .root }
    return TreePath(bytes[..<slash])
  }

  /// The last name; empty for the root.
  package var name: FileName {
    FileName(bytes[(bytes.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0)...])
  }

  package var names: [FileName] {
    bytes.isEmpty ? [] : bytes.split(separator: 0x2F).map { FileName($0) }
  }

  package func appending(_ name: FileName) -> TreePath {
    isRoot ? TreePath(name.bytes) : TreePath(bytes + [0x2F] + name.bytes)
  }

  package func isAtOrBelow(_ directory: TreePath) -> Bool {
    let above = directory.bytes
    return above.isEmpty
      || bytes.starts(with: above)
        && (bytes.count == above.count || bytes[above.count] == 0x2F)
  }

  package static func < (a: TreePath, b: TreePath) -> Bool {
    a.bytes.withUnsafeBytes { first in
      b.bytes.withUnsafeBytes { second in first.lexicographicallyPrecedes(second) }
    }
  }
}
