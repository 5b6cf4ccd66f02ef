package import Inodes
package import LLVSCore

// Parts of nodes, read where they are: a copy of a node takes longer than finding it. Each is nil, or false, where
// there is no node.

extension NodeMap {
  /// Returns the kind of a node.
  package func kind(of number: InodeNumber) -> EntryKind? { holders[number]?.node?.kind }

  /// Returns the names under which programs see an inode.
  package func names(of number: InodeNumber) -> [InodeName]? { holders[number]?.node?.names }

  /// Returns the first name of an inode: the place of a directory.
  package func place(of number: InodeNumber) -> InodeName? { holders[number]?.node?.names.first }

  /// Returns the names that the recorded tree has of an inode.
  func recordedNames(of number: InodeNumber) -> [InodeName]? {
    holders[number]?.node?.recordedNames
  }

  /// True if the recorded tree has an inode.
  package func hasRecordedName(_ number: InodeNumber) -> Bool? {
    guard let names = holders[number]?.node?.recordedNames else { return nil }
    return !names.isEmpty
  }

  /// Returns the names of a file; nil for a directory.
  package func fileNames(of number: InodeNumber) -> [InodeName]? {
    guard let holder = holders[number], let kind = holder.node?.kind, kind != .directory else {
      return nil
    }
    return holder.node?.names
  }

  /// Returns the bytes that a file shows; nil for a directory.
  package func content(of number: InodeNumber) -> FileContent? {
    holders[number]?.node?.file?.content
  }

  /// Returns the attributes that are shown.
  package func attributes(of number: InodeNumber) -> Attributes? {
    holders[number]?.node?.attributes
  }

  /// Calls a closure with each file.
  func forEachFile(_ body: (PendingFile) -> Void) {
    for (_, holder) in holders { if let file = holder.node?.file { body(file) } }
  }

  /// Returns the mtime and the ctime that programs see.
  package func times(of number: InodeNumber) -> (mtime: Attributes.Time, ctime: Attributes.Time)? {
    guard let holder = holders[number], let changed = holder.node?.changed else { return nil }
    return (holder.node?.attributes.mtime ?? changed, changed)
  }

  /// True for a file with bytes that no save covers.
  package func isUnsaved(_ number: InodeNumber) -> Bool {
    holders[number]?.node?.file?.isUnsaved ?? false
  }

  /// True for a file whose unsaved bytes came from a mapping.
  package func isMapped(_ number: InodeNumber) -> Bool {
    holders[number]?.node?.file?.isMapped ?? false
  }

  /// True for a file with a save that no version took, and that is not a firm one.
  package func hasLooseSave(_ number: InodeNumber) -> Bool {
    guard let isFirm = holders[number]?.node?.file?.saved?.isFirm else { return false }
    return !isFirm
  }

  /// Returns the epoch of the older version that what is pending of an inode is made on; nil if it is made on what the
  /// tree shows.
  package func epoch(of number: InodeNumber) -> Epoch? { holders[number]?.node?.on }

  /// Returns the reason that an inode has no name while somebody holds it.
  package func orphan(of number: InodeNumber) -> Orphan? { holders[number]?.node?.orphan }
}
