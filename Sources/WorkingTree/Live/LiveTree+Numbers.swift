import LLVSCore
import Platform
import TreeNames

// Which number a name of the base shows: asked here by whoever lists it and by whoever looks it up, so that
// d_ino is st_ino.

extension LiveTree {
  /// What the number of a name of the base follows from.
  struct ListedEntry {
    /// 0 for a directory that no entry stands for.
    let inode: UInt64
    let kind: EntryKind
    let linkID: [UInt8]?

    init(_ item: TreeListing.Item) {
      inode = item.entry?.inode ?? 0
      kind = item.kind
      linkID = item.entry?.attributes.linkID
    }

    init(_ found: TreeView.Found) {
      switch found {
      case .value(let entry):
        (inode, kind, linkID) = (entry.inode, entry.kind, entry.attributes.linkID)
      case .directory(let entry):
        (inode, kind, linkID) = (entry?.inode ?? 0, .directory, nil)
      }
    }
  }

  /// The number that a name of the base shows; call with the lock held.
  ///
  /// That of its entry or of its path, unless in memory something else bears that: what has another name, or
  /// lives on for its handles alone. Then another, which the name keeps.
  func shownInode(
    of entry: ListedEntry, at name: [UInt8], of parent: LiveNode, basePath: [UInt8]
  ) -> UInt64 {
    if entry.inode != 0, isFree(entry.inode, for: entry, at: name, of: parent) {
      return entry.inode
    }
    let place =
      entry.kind == .directory ? names.join(basePath, name) : Self.partedName(entry.inode)
    let inode = impliedInode(place)
    return isFree(inode, for: entry, at: name, of: parent) ? inode : renewedInode(place)
  }

  /// Whether a number stands for nothing in memory, or for what is at a name.
  private func isFree(
    _ inode: UInt64, for entry: ListedEntry, at name: [UInt8], of parent: LiveNode
  ) -> Bool {
    guard let known = nodes[inode] else { return true }
    return known.stands(at: name, of: parent) || isLink(entry.linkID, entry.kind, of: known)
  }

  // MARK: - Numbers that no entry says

  /// Finds out the numbers that the store keeps for directories that no entry stands for; call without
  /// the lock.
  func learnImplied(_ paths: [[UInt8]]) throws(StoreError) {
    let unknown = lock.withLock { _ in paths.filter { impliedInodes[ImpliedName($0)] == nil } }
    guard !unknown.isEmpty else { return }
    let numbers = try store.inodes(ofImplied: unknown)
    lock.withLock { _ in
      for (path, number) in zip(unknown, numbers) where impliedInodes[ImpliedName(path)] == nil {
        impliedInodes[ImpliedName(path)] = number
      }
    }
  }

  /// The number of a directory that no entry stands for; call with the lock held.
  func impliedInode(_ path: [UInt8]) -> UInt64 {
    impliedInodes[ImpliedName(path)] ?? renewedInode(path)
  }

  /// What stands where paths do for a value whose own number something else bears, at each of its names: no
  /// path begins with a slash.
  private static func partedName(_ inode: UInt64) -> [UInt8] { [0x2F] + String(inode).utf8 }

  /// Another number for a path whose own one something else bears.
  private func renewedInode(_ path: [UInt8]) -> UInt64 {
    let inode = takeSpareInode()
    impliedInodes[ImpliedName(path)] = inode
    return inode
  }
}
