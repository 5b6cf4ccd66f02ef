package import Inodes

/// The inode numbers that the working tree has for what a new head brings, because a program made or
/// moved it and the cut took it.
///
/// The head's map says what stands where; hints say which number it has. A hint that does not fit
/// the map, because a merge brought something else, is left aside.
package struct NumberHints: Sendable {
  /// A file that the cut took.
  package struct File: Hashable, Sendable {
    /// Its number.
    package var number: InodeNumber
    /// What was taken of it.
    package var identity: FileIdentity
    /// Its link id, if it has one.
    package var linkID: [UInt8]?
    /// All its paths in the working tree when it was taken.
    package var paths: [TreePath]

    /// Creates a hint.
    package init(
      number: InodeNumber, identity: FileIdentity, linkID: [UInt8]? = nil, paths: [TreePath]
    ) {
      self.number = number
      self.identity = identity
      self.linkID = linkID
      self.paths = paths
    }
  }

  /// The files.
  package var files: [File] = []
  /// The directories that the cut took, made or moved, with their paths in the working tree.
  package var directories: [TreePath: InodeNumber] = [:]

  /// Creates hints without any number.
  package init() {}
}
