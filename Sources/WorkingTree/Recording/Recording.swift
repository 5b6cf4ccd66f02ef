package import Inodes
import LLVSCore

/// The finds of a cut: changes of paths, and what stays pending.
package struct Recording {
  /// The changes; those of names in the order in which they were made, then bytes and orphans.
  var edits: [PathEdit] = []
  /// The root directory with new attributes; nil if it has none. No version takes them, but the store does.
  var root: PendingNode?
  /// The names of each directory that changes decide, whatever moved directories take along.
  var excluded: [InodeNumber: Set<FileName>] = [:]
  /// The directories of which nothing is pending, unless names came and went.
  package internal(set) var times: Set<InodeNumber> = []
  /// Names that stay pending: files without a save that counts.
  package internal(set) var left: Set<InodeName> = []
  /// Names that patterns keep out of versions.
  package internal(set) var ignored: Set<InodeName> = []
  /// Changed names of which no version takes anything, and whether something is there.
  package internal(set) var nothing: [InodeName: Bool] = [:]
  /// Directories that a head removed and in which nothing is pending any more: they go with the cut.
  package internal(set) var emptied: Set<InodeName> = []
  /// The paths of files with bytes that no save covers.
  package internal(set) var unsaved: [TreePath] = []
  /// The same of files that a head took their names from.
  package internal(set) var unsavedOrphans: [TreePath] = []
  /// The paths of files whose saved bytes cannot be read.
  package internal(set) var unreadable: [TreePath] = []

  /// True if the cut changes neither a version, nor the store's settings, nor the tree.
  package var isIdle: Bool { isEmpty && emptied.isEmpty && root == nil }

  /// True if no version takes anything.
  package var isEmpty: Bool { edits.isEmpty }

  mutating func exclude(_ place: InodeName) {
    excluded[place.directory, default: []].insert(place.name)
  }
}
