import LLVS
import Platform

// What the tree below `.llvs` asks of the live tree.

extension LiveTree {
  /// The head's tree as the live tree shows it.
  var shownBase: TreeView { lock.withLock { _ in base } }

  /// The version that the live tree continues from; nil before the first.
  var shownHead: VersionNumber? { lock.withLock { _ in head } }

  /// The ignore patterns in force.
  var shownIgnore: IgnorePatterns { lock.withLock { _ in ignore } }
}
