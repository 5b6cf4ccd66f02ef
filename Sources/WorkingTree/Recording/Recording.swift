package import Inodes

/// The changes that a cut found, and what stays pending.
package struct Recording {
  /// Names in the order of their changes, then bytes and orphans.
  var edits: [PathEdit] = []
  /// The root directory if its attributes changed; the store takes them and no version does.
  var root: PendingNode?
  /// The names of each directory that changes decide, though moved directories take others along.
  var excluded: [InodeNumber: Set<FileName>] = [:]
  /// Names of files without a save that counts.
  package internal(set) var left: Set<InodeName> = []
  package internal(set) var ignored: Set<InodeName> = []
  /// Changed names without a change for any version, and whether something is there.
  package internal(set) var nothing: [InodeName: Bool] = [:]
  /// Directories that a head removed and that have nothing pending any more: the cut removes them.
  package internal(set) var emptied: Set<InodeName> = []
  /// Files with bytes that no save covers.
  package internal(set) var unsaved: [TreePath] = []
  /// The same for files that a head took their names from.
  package internal(set) var unsavedOrphans: [TreePath] = []
  package internal(set) var unreadable: [TreePath] = []
  /// Files whose changes are made on bytes that the store has forgotten or never got.
  package internal(set) var withoutBase: [TreePath] = []
  /// True if the cut changes no version, no setting of the store and not the tree.
  package var isIdle: Bool { isEmpty && emptied.isEmpty && root == nil }
  package var isEmpty: Bool { edits.isEmpty }

  mutating func exclude(_ place: InodeName) {
    excluded[place.directory, default: []].insert(place.name)
  }
}
