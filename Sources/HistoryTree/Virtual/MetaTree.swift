package import Grammar
import LLVSCore
import Platform
import Synchronization
package import TreeNames
package import WorkingTree

// Everything at and below `.llvs`, as data; computed when asked for.
//
// Lock order: none of the locks here is held while another is taken, or while the store, the live tree or
// a service is asked.

/// The tree below `.llvs` of every directory of a live tree and of its versions.
///
/// - Concurrency: every operation may be called from any thread.
package final class MetaTree: Sendable {
  let live: LiveTree
  let services: MetaServices
  let nodes: MetaNodes
  let snapshots: Snapshots
  let calendar: LocalCalendar
  /// The peers, and whatever editors leave beside them.
  let peerFiles: WritablePlace
  let links = LinkRevisions()
  /// What directories of history let others do, by path; a leaf lock.
  let historyAccess = Mutex(RecentlyUsed<[UInt8], KnownAccess>(limit: 64))
  /// What is known of open conflicts.
  let conflicts: ConflictDirectories
  /// The ignore patterns, likewise.
  let ignoreFiles: WritablePlace
  /// When this began: shown as the time of what has none.
  let born: Attributes.Time
  /// What is made as it is read and shows its true size, which costs to make it; nil where it shows none.
  let sized: SizedTexts?
  /// Whether files are shown without set-user-ID and set-group-ID bits: where the kernel obeys these, a
  /// program that was removed or mended would go on lending its owner's rights from history.
  let hidesPrivileges: Bool

  var store: Store { live.store }

  package init(
    live: LiveTree, services: MetaServices, calendar: LocalCalendar = .system,
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
    born = LiveTree.now()
    sized = nil
  }

  /// Another view of the same things, with nodes of its own: for versions that are shown as a file system
  /// of their own, where sizes must be known before anything is read.
  init(sizing other: MetaTree) {
    // It is never mounted so that the kernel obeys them.
    hidesPrivileges = false
    live = other.live
    services = other.services
    calendar = other.calendar
    snapshots = other.snapshots
    nodes = MetaNodes()
    peerFiles = other.peerFiles
    ignoreFiles = other.ignoreFiles
    conflicts = other.conflicts
    born = other.born
    sized = SizedTexts()
  }

  /// Whether a number is one of this tree's; those of live files and directories are smaller.
  package static func owns(_ inode: UInt64) -> Bool { inode >= MetaNodes.values }

  /// How many nodes are in memory.
  package var nodeCount: Int { nodes.count }

  /// Says who is told, once, when there are more nodes than `limit`, and by an eighth more than have to
  /// stay; it is called with a lock held and must only note it.
  ///
  /// - Returns: how many there are.
  @discardableResult
  package func watchCrowd(limit: Int, isCrowded: @escaping @Sendable () -> Void) -> Int {
    nodes.watchCrowd(limit: limit, isCrowded: isCrowded)
  }

  /// Names of history whose loss makes the kernel forget about so many nodes, coldest first.
  package func coldNames(toFree wanted: Int, sparing use: KernelUse) -> [KernelName] {
    nodes.coldNames(toFree: wanted, sparing: use)
  }

  // MARK: - Finding

  /// Finds `.llvs` of a directory, of the live tree or of a version, and counts a look-up.
  ///
  /// - Throws: ``FSError/noEntry`` where there is none: nowhere else inside `.llvs`.
  package func hidden(of directory: UInt64) throws(FSError) -> MetaEntry {
    if Self.owns(directory) { return try lookup(directory, ReservedName.bytes) }
    guard try live.getattr(directory).kind == .directory else { throw .notDirectory }
    guard live.path(of: directory) != nil else { throw .noEntry }
    let content = MetaContent.hidden(root: directory)
    let node = nodes.adopt(
      content, numbering: .directory, under: directory, nil, name: ReservedName.bytes)
    return try entry(of: node)
  }

  /// Finds a name and counts a look-up, which the kernel gives back by ``forget(_:count:)``.
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

  /// A child before it is a node.
  struct Found {
    var content: MetaContent
    var numbering: MetaNodes.Numbering
    /// The entry behind a value or directory, where it is known already.
    var entry: Entry?
  }

  func adopt(
    _ found: Found, in directory: MetaNode, name: [UInt8]
  ) throws(FSError) -> MetaEntry {
    let node = nodes.adopt(
      found.content, numbering: found.numbering, under: directory.inode, directory, name: name)
    return try entry(of: node, found.entry)
  }

  /// The entry of a node whose look-up was counted; counts it back if there is none.
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

  /// The kernel forgets `count` look-ups of a node.
  package func forget(_ inode: UInt64, count: UInt64) {
    guard let last = nodes.forget(inode, count: count) else { return }
    if case .writable(let file) = last.content { file.place.tidy(file) }
  }

  /// The directory above one, for `..`.
  package func parent(of inode: UInt64) throws(FSError) -> UInt64 {
    let node = try nodes.node(inode)
    if case .hidden(let root) = node.content { return root }
    return node.parent?.inode ?? LiveTree.rootInode
  }

  /// The path of the live directory in whose `.llvs` a node lies.
  func rootPath(of node: MetaNode) throws(FSError) -> [UInt8] {
    guard let path = live.path(of: node.root) else { throw .noEntry }
    return path
  }

  /// The target of a symbolic link.
  ///
  /// - Throws: ``FSError/invalid`` for what is no link.
  package func readlink(_ inode: UInt64) throws(FSError) -> [UInt8] {
    let node = try nodes.node(inode)
    switch node.content {
    case .link(let target): return target
    case .value(let number, let key):
      let entry = try entry(number, key)
      guard entry.kind == .symlink else { throw .invalid }
      return LinkTarget.shown(
        try reading { () throws(StoreError) in try store.contents.linkTarget(entry.stored) })
    default: throw .invalid
    }
  }

  func entry(_ number: VersionNumber, _ key: Key) throws(FSError) -> Entry {
    let view = try snapshots.snapshot(number).view
    guard let entry = try reading({ () throws(StoreError) in try view.map.entry(at: key) }) else {
      throw .stale
    }
    return entry
  }
}

/// A path and a name below it.
func joined(_ path: [UInt8], _ name: some Collection<UInt8>) -> [UInt8] {
  path.isEmpty ? Array(name) : path + [0x2F] + name
}
