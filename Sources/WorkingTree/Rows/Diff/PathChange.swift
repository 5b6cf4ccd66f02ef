package import Inodes
import LLVSCore
package import TreeNames

/// One path at which two trees show something else.
package struct PathChange: Hashable, Sendable {
  /// The path.
  package var path: TreePath
  /// The entry of the first tree; nil for none.
  package var before: TreeView.Found?
  /// The entry of the second tree; nil for none.
  package var after: TreeView.Found?
  /// The path at which the first tree shows the value that the second shows here, if it has the
  /// value's key and shows it elsewhere.
  package var source: TreePath?
  /// The path at which the second tree shows the value that the first shows here, if it has the
  /// value's key and shows it elsewhere.
  package var target: TreePath?

  package init(
    path: TreePath, before: TreeView.Found? = nil, after: TreeView.Found? = nil,
    source: TreePath? = nil, target: TreePath? = nil
  ) {
    (self.path, self.before, self.after) = (path, before, after)
    (self.source, self.target) = (source, target)
  }
}

extension TreeView.Found {
  /// True for a directory, with or without an entry.
  package var isDirectory: Bool {
    if case .directory = self { return true }
    return false
  }

  /// True if a tree shows the same for both: key, kind, attributes, bytes, and the place in the
  /// store where they are.
  ///
  /// The inode number and the revision of an entry are not shown, so they may differ.
  package func isSame(as other: TreeView.Found) -> Bool {
    switch (self, other) {
    case (.value(let a), .value(let b)), (.directory(let a?), .directory(let b?)):
      a.storedVersion == b.storedVersion && a.stored == b.stored && a.hasSameContent(as: b)
    case (.directory(nil), .directory(nil)): true
    default: false
    }
  }
}
