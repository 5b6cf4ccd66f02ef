package import Inodes
package import LLVSCore
package import TreeNames

/// The working tree's inode numbers for files and directories that a program made or moved and the cut took.
/// The head's map says what is where; a hint that does not fit it, because of a merge, is ignored.
package struct NumberHints: Sendable {
  package struct File: Hashable, Sendable {
    package var number: InodeNumber
    package var identity: FileIdentity
    package var linkID: [UInt8]?
    /// All its paths in the working tree when it was taken.
    package var paths: [TreePath]
  }

  package struct Times: Hashable, Sendable {
    package var modified: Attributes.Time
    package var changed: Attributes.Time
  }

  package var files: [File] = []
  /// The directories that the cut took, made or moved, by their paths in the working tree.
  package var directories: [TreePath: InodeNumber] = [:]
  /// The paths of ``directories`` that took a name of the rows.
  package var replacing: Set<TreePath> = []
  /// The shown times of files that the cut took, by their paths: they stay.
  package var times: [TreePath: Times] = [:]
  /// The tree of the version with only what was taken; nil for the new head's. Where the head differs, the clock's
  /// time counts.
  package var own: TreeView?
  /// The trees of versions next to the head, by the paths of what the cut took into them.
  package var beside: [TreePath: TreeView] = [:]
  /// The trees of versions next to the head, by the directories in which the cut took names into them.
  package var above: [TreePath: TreeView] = [:]
  /// The pending changes at the cut's instant, which programs saw; nil without a cut.
  package var frozen: Overlay?
  /// True if the head has only what was taken: programs see all times already.
  package var isOwn = false
  /// Returns the working tree's cookies of names of a directory without rows: a name keeps its cookie.
  package var cookies: @Sendable (InodeNumber) -> [FileName: EntryCookie] = { _ in [:] }
  package init() {}
}
