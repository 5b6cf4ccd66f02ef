package import Inodes
package import LLVSCore
import Platform

/// A name of the tree whose value came, changed or went because the tree went to another head.
///
/// Only names in directories that are in memory are told of: nobody watches another directory.
package struct ShownChange: Sendable {
  /// The path from the top of the tree, without a slash before it.
  package var path: TreePath
  /// The directory that the name is in.
  package var directory: InodeNumber
  /// The kind of the value before; nil if the name was not there.
  package var before: EntryKind?
  /// The kind of the value now; nil if the name is not there any more.
  package var after: EntryKind?
  /// True if the bytes are others, not the attributes alone.
  package var hasOtherBytes: Bool

  /// The most that one transition of the tree tells of.
  static let most = 1 << 16
}

extension LiveTree {
  /// Notes a change of what is shown, if somebody wants to hear of it; call with the lock held.
  func noteShown(
    _ path: [UInt8], in parent: LiveNode, before: EntryKind?, after: EntryKind?, otherBytes: Bool
  ) {
    guard tellsOfShown, shownChanges.count < ShownChange.most else { return }
    shownChanges.append(
      ShownChange(
        path: TreePath(path), directory: InodeNumber(parent.inode), before: before,
        after: after, hasOtherBytes: otherBytes))
  }

  /// Returns what was noted, and begins anew.
  func takeShownChanges() -> [ShownChange] {
    lock.withLock { _ in
      defer { shownChanges = [] }
      return shownChanges
    }
  }

  /// True if the kernel knows a node, so that a program may be in it.
  package func isKnownToKernel(_ node: UInt64, besides count: UInt64) -> Bool {
    lock.withLock { _ in (known(node)?.lookups ?? 0) > count }
  }

  /// True if a program has a node open.
  package func isOpen(_ node: UInt64) -> Bool {
    lock.withLock { _ in (known(node)?.handles ?? 0) > 0 }
  }
}
