package import Grammar
import Inodes
import LLVSCore
import Platform
import Synchronization
package import TreeNames
package import WorkingTree

// The tree at and below `.llvs`, computed when it is read.
//
// Lock order: none of the locks here is held while another is taken, or while the store, the
// working tree or a service is called.

/// The tree below `.llvs` in every directory of a working tree and of its versions.
///
/// - Concurrency: every operation may be called from any thread.
package final class MetaTree: Sendable {
  let live: TreeSession
  let services: MetaServices
  let nodes: MetaNodes
  let snapshots: Snapshots
  let calendar: LocalCalendar
  /// The peers, and the files that editors leave next to them.
  let peerFiles: WritablePlace
  let links = LinkRevisions()
  /// The permissions of directories of history, by path; a leaf lock.
  let historyAccess = Mutex(RecentlyUsed<[UInt8], KnownAccess>(limit: 64))
  /// The open conflicts.
  let conflicts: ConflictDirectories
  /// The ignore patterns, and the files that editors leave next to them.
  let ignoreFiles: WritablePlace
  let removals: RemovalGuard
  /// The searches that were asked for last.
  let searches: SearchDirectories
  /// The time at which this was made: shown for nodes without a time.
  let born: Attributes.Time
  /// The texts that are made while they are read, if their true size must be shown, for which they
  /// are made in advance; nil if they show no size.
  let sized: SizedTexts?
  /// Files are shown without set-user-ID and set-group-ID bits: if the kernel obeyed the bits, a
  /// program that was removed or fixed in the tree could still be run from history with its owner's
  /// rights.
  let hidesPrivileges: Bool

  var store: Store { live.store }

  /// Creates the tree for a working tree.
  package init(
    live: TreeSession, services: MetaServices, calendar: LocalCalendar = .system,
    hidesPrivileges: Bool = false
  ) {
    self.hidesPrivileges = hidesPrivileges
    self.live = live
    self.services = services
    self.calendar = calendar
    snapshots = Snapshots(store: live.store)
    let nodes = MetaNodes()
    self.nodes = nodes
    peerFiles = WritablePlace(.peers, services: services, live: live) { nodes.allot() }
    ignoreFiles = WritablePlace(.ignore, services: services, live: live) { nodes.allot() }
    conflicts = ConflictDirectories()
    removals = RemovalGuard()
    searches = SearchDirectories()
    born = TreeSession.now()
    sized = nil
  }

  /// Creates another view of the same tree, with its own nodes, for the separate file system of
  /// versions, in which sizes must be known before a file is read.
  init(sizing other: MetaTree) {
    // The kernel ignores these bits on that file system, as it is always mounted so.
    hidesPrivileges = false
    live = other.live
    services = other.services
    calendar = other.calendar
    snapshots = other.snapshots
    nodes = MetaNodes()
    peerFiles = other.peerFiles
    ignoreFiles = other.ignoreFiles
    conflicts = other.conflicts
    removals = other.removals
    searches = other.searches
    born = other.born
    sized = SizedTexts()
  }

  /// True if an inode number is one of this tree's; those of the working tree are smaller.
  package static func owns(_ inode: UInt64) -> Bool { inode >= MetaNodes.values }

  /// The number of nodes in memory.
  package var nodeCount: Int { nodes.count }

  /// Sets the limit, and the closure that is called, once, when the number of nodes exceeds `limit`
  /// and also the number that had to stay by an eighth. It is called with a lock held and must
  /// return at once.
  ///
  /// - Returns: The current number of nodes.
  @discardableResult
  package func watchCrowd(limit: Int, isCrowded: @escaping @Sendable () -> Void) -> Int {
    nodes.watchCrowd(limit: limit, isCrowded: isCrowded)
  }

  /// Returns names of history, those used longest ago first, so that the kernel frees about
  /// `wanted` nodes when it forgets them.
  package func coldNames(toFree wanted: Int, sparing use: KernelUse) -> [KernelName] {
    nodes.coldNames(toFree: wanted, sparing: use)
  }

  // MARK: - Finding

  /// Looks up `.llvs` in a directory of the working tree or of a version, and counts a look-up.
  ///
  /// - Throws: ``FSError/noEntry`` elsewhere inside `.llvs`.
  package func metaDirectory(of directory: UInt64) throws(FSError) -> MetaEntry {
    if Self.owns(directory) { return try lookup(directory, ReservedName.bytes) }
    guard try live.files.status(of: InodeNumber(directory)).kind == .directory else {
      throw .notDirectory
    }
    guard live.path(of: directory) != nil else { throw .noEntry }
    let content = MetaContent.meta(root: directory)
    let node = nodes.adopt(
      content, numbering: .directory, under: directory, nil, name: ReservedName.bytes)
    return try entry(of: node)
  }

  /// Looks up a name and counts a look-up, which ``forget(_:count:)`` lowers.
  ///
  /// - Throws: ``FSError/noEntry``, ``FSError/notDirectory``, ``FSError/nameTooLong``.
  package func lookup(_ parent: UInt64, _ name: [UInt8]) throws(FSError) -> MetaEntry {
    let directory = try nodes.node(parent)
    guard directory.content.kind == .directory else { throw .notDirectory }
    guard name.count <= 255 else { throw .nameTooLong }
    guard !name.isEmpty, !name.contains(0), !name.contains(0x2F) else { throw .noEntry }
    guard let found = try child(of: directory, named: name) else { throw .noEntry }
    return try adopt(found, in: directory, name: name)
  }

  /// The result of a look-up, before it has a node.
  struct Found {
    var content: MetaContent
    var numbering: MetaNodes.Numbering
    /// The entry of a value or directory, if it is known already.
    var entry: Entry?
  }

  func adopt(
    _ found: Found, in directory: MetaNode, name: [UInt8]
  ) throws(FSError) -> MetaEntry {
    let node = nodes.adopt(
      found.content, numbering: found.numbering, under: directory.inode, directory, name: name)
    return try entry(of: node, found.entry)
  }

  /// Returns the entry of a node whose look-up was counted; if that fails, lowers the count again.
  private func entry(of node: MetaNode, _ known: Entry? = nil) throws(FSError) -> MetaEntry {
    do throws(FSError) {
      return MetaEntry(
        status: try status(of: node, known), isLasting: isLasting(node),
        isControl: node.content == .control)
    } catch {
      forget(node.inode, count: 1)
      throw error
    }
  }

  /// Raises the look-up count of the node of a number by one, and returns its entry.
  ///
  /// - Throws: ``FSError/stale`` for a node that the kernel has forgotten: numbers here do not last.
  package func lookup(number inode: UInt64) throws(FSError) -> MetaEntry {
    try entry(of: try nodes.again(inode))
  }

  /// Lowers the look-up count of a node by `count`.
  package func forget(_ inode: UInt64, count: UInt64) {
    guard let last = nodes.forget(inode, count: count) else { return }
    if case .writable(let file) = last.content { file.place.tidy(file) }
  }

  /// Returns the parent directory, for `..`.
  package func parent(of inode: UInt64) throws(FSError) -> UInt64 {
    let node = try nodes.node(inode)
    if case .meta(let root) = node.content { return root }
    return node.parent?.inode ?? TreeSession.rootInode
  }

  /// Returns the path of the directory of the working tree in whose `.llvs` a node is.
  func rootPath(of node: MetaNode) throws(FSError) -> [UInt8] {
    guard let path = live.path(of: node.root) else { throw .noEntry }
    return path
  }

  /// Returns the target of a symbolic link.
  ///
  /// - Throws: ``FSError/invalid`` if the node is no link.
  package func readlink(_ inode: UInt64) throws(FSError) -> [UInt8] {
    let node = try nodes.node(inode)
    switch node.content {
    case .link(let target): return target
    case .value(let number, let key):
      let entry = try entry(number, key)
      guard entry.kind == .symlink else { throw .invalid }
      return LinkTarget.shown(
        try FSError.wrapping { () throws(StoreError) in try store.contents.linkTarget(entry.stored)
        })
    default: throw .invalid
    }
  }

  func entry(
    _ number: VersionNumber, _ key: Key, isShort: Bool = false
  ) throws(FSError) -> Entry {
    let view = try snapshots.snapshot(number).view
    let map = isShort ? view.map.shortened : view.map
    guard let entry = try FSError.wrapping({ () throws(StoreError) in try map.entry(at: key) })
    else {
      throw .stale
    }
    return entry
  }
}

/// Appends a name to a path, which is empty for the root.
func joined(_ path: [UInt8], _ name: some Collection<UInt8>) -> [UInt8] {
  path.isEmpty ? Array(name) : path + [0x2F] + name
}
