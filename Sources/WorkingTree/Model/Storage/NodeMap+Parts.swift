package import Inodes
package import LLVSCore

// Parts of nodes, read in place because a copy of a node takes longer than finding it; nil or false without a node.

extension NodeMap {
  package func kind(of number: InodeNumber) -> EntryKind? { holders[number]?.node?.kind }
  package func names(of number: InodeNumber) -> [InodeName]? { holders[number]?.node?.names }
  /// The first name of an inode is the place of a directory.
  package func place(of number: InodeNumber) -> InodeName? { holders[number]?.node?.names.first }

  func recordedNames(of number: InodeNumber) -> [InodeName]? {
    holders[number]?.node?.recordedNames
  }

  package func hasRecordedName(_ number: InodeNumber) -> Bool? {
    guard let names = holders[number]?.node?.recordedNames else { return nil }
    return !names.isEmpty
  }

  /// nil for a directory.
  package func fileNames(of number: InodeNumber) -> [InodeName]? {
    guard let holder = holders[number], let kind = holder.node?.kind, kind != .directory
    else { return nil }
    return holder.node?.names
  }

  package func content(of number: InodeNumber) -> FileContent? {
    holders[number]?.node?.file?.content
  }

  package func attributes(of number: InodeNumber) -> Attributes? {
    holders[number]?.node?.attributes
  }

  func forEachFile(_ body: (PendingFile) -> Void) {
    for (_, holder) in holders { if let file = holder.node?.file { body(file) } }
  }

  package func times(of number: InodeNumber) -> (mtime: Attributes.Time, ctime: Attributes.Time)? {
    guard let holder = holders[number], let changed = holder.node?.changed else { return nil }
    return (holder.node?.attributes.mtime ?? changed, changed)
  }

  package func isUnsaved(_ number: InodeNumber) -> Bool {
    holders[number]?.node?.file?.isUnsaved ?? false
  }

  package func isMapped(_ number: InodeNumber) -> Bool {
    holders[number]?.node?.file?.isMapped ?? false
  }

  /// True for a file with a save that is not firm and that no version took.
  package func hasLooseSave(_ number: InodeNumber) -> Bool {
    guard let isFirm = holders[number]?.node?.file?.saved?.isFirm else { return false }
    return !isFirm
  }

  /// The epoch that pending changes of an inode are made on; nil for what the tree shows.
  package func epoch(of number: InodeNumber) -> Epoch? { holders[number]?.node?.on }
  package func orphan(of number: InodeNumber) -> Orphan? { holders[number]?.node?.orphan }
}
