package import Inodes
import LLVSCore
package import TreeNames

/// A path at which two trees differ.
package struct PathChange: Hashable, Sendable {
  package var path: TreePath
  package var before: TreeView.Found?
  package var after: TreeView.Found?
  /// The path at which the first tree shows the second's value, if that has its key and is elsewhere.
  package var source: TreePath?
  /// The path at which the second tree shows the first's value, if that has its key and is elsewhere.
  package var target: TreePath?

  /// True if programs can tell the trees apart: a merge may store the same content as another version.
  var changesContent: Bool {
    switch (before, after) {
    case (.value(let a)?, .value(let b)?), (.directory(let a?)?, .directory(let b?)?):
      !a.hasSameContent(as: b)
    case (.directory(nil)?, .directory(nil)?), (nil, nil): false
    default: true
    }
  }
}

extension TreeView.Found {
  /// True for a directory, with or without an entry.
  package var isDirectory: Bool {
    if case .directory = self { return true }
    return false
  }

  /// True if a tree shows the same for both: key, kind, attributes, bytes and their place in the store. Inode
  /// number and revision are not shown.
  package func isSame(as other: TreeView.Found) -> Bool {
    switch (self, other) {
    case (.value(let a), .value(let b)), (.directory(let a?), .directory(let b?)):
      a.storedVersion == b.storedVersion && a.stored == b.stored && a.hasSameContent(as: b)
    case (.directory(nil), .directory(nil)): true
    default: false
    }
  }
}
