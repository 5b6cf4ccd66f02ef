package import Inodes
package import LLVSCore
package import TreeNames

/// The inode numbers that the working tree has for what a new head brings, because a program made or
/// moved it and the cut took it.
///
/// The head's map says what is where; hints say which number it has. A hint that does not fit
/// the map, because a merge brought something else, is left aside.
package struct NumberHints: Sendable {
  /// A file that the cut took.
  package struct File: Hashable, Sendable {
    /// Its number.
    package var number: InodeNumber
    /// The identity of the taken file.
    package var identity: FileIdentity
    /// Its link id, if it has one.
    package var linkID: [UInt8]?
    /// All its paths in the working tree when it was taken.
    package var paths: [TreePath]

    package init(
      number: InodeNumber, identity: FileIdentity, linkID: [UInt8]? = nil, paths: [TreePath]
    ) {
      self.number = number
      self.identity = identity
      self.linkID = linkID
      self.paths = paths
    }
  }

  /// The times that the working tree shows of an inode.
  package struct Times: Hashable, Sendable {
    /// st_mtime.
    package var modified: Attributes.Time
    /// st_ctime.
    package var changed: Attributes.Time

    /// Creates times.
    package init(modified: Attributes.Time, changed: Attributes.Time) {
      (self.modified, self.changed) = (modified, changed)
    }
  }

  /// The files.
  package var files: [File] = []
  /// The directories that the cut took, made or moved, with their paths in the working tree.
  package var directories: [TreePath: InodeNumber] = [:]
  /// The paths of ``directories`` that took a name which the rows have.
  package var replacing: Set<TreePath> = []

  /// The times of what the cut took, and of directories in which it took names, by their paths in the working
  /// tree: they go on being shown.
  package var times: [TreePath: Times] = [:]
  /// The tree of the version that has what was taken and nothing of others; nil if that is the new head's. Where
  /// the new head shows something else, the clock's time counts.
  package var own: TreeView?
  /// The trees of versions next to the head, by the paths of what the cut took into them.
  package var beside: [TreePath: TreeView] = [:]
  /// The trees of versions next to the head, by the directories in which the cut took names into them.
  package var above: [TreePath: TreeView] = [:]
  /// The changes that were pending at the cut's instant: what programs saw at each name.
  package var frozen: Overlay?
  /// True if the head has what was taken and nothing of others: programs see all times already.
  package var isOwn = false
  /// Returns the cookies that the working tree gave to names of a directory which may have no row yet: a name keeps
  /// its cookie, and no other gets it.
  package var cookies: @Sendable (InodeNumber) -> [FileName: EntryCookie] = { _ in [:] }

  /// Creates hints without any number.
  package init() {}
}
