package import Grammar
import Inodes
import LLVSCore
import Synchronization
package import TreeNames
package import WorkingTree

// Lock order: all locks here are leaf locks. None is held while the store, the working tree or a service is called.

/// The tree below `.llvs` in every directory of a working tree and of its versions.
/// - Concurrency: every operation may be called from any thread.
package final class MetaTree: Sendable {
  let live: TreeSession
  let services: any MetaServices
  let nodes: MetaNodes
  let snapshots: Snapshots
  let calendar: LocalCalendar
  /// The peers, and their editors' files.
  let peerFiles: WritablePlace
  let links = LinkRevisions()
  /// The permissions of directories of history; a leaf lock.
  let historyAccess = Mutex(RecentlyUsed<[UInt8], KnownAccess>(limit: 64))
  let conflicts: ConflictDirectories
  /// The ignore patterns, and their editors' files.
  let ignoreFiles: WritablePlace
  let removals: RemovalGuard
  let searches: SearchDirectories
  /// Shown for nodes without a time.
  let born: Attributes.Time
  /// The texts whose true size must be shown; nil if they show no size.
  let sized: SizedTexts?
  /// Hides set-user-ID and set-group-ID bits, because a program that was fixed in the tree could otherwise be run
  /// from history with its owner's rights.
  let hidesPrivileges: Bool
  var store: Store { live.store }

  package init(
    live: TreeSession, services: any MetaServices, calendar: LocalCalendar = .system,
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
    born = Attributes.Time.now
    sized = nil
  }

  /// Views `other`'s tree with separate nodes and sizes, for the file system of versions.
  init(sizing other: MetaTree) {
    // The kernel ignores these bits on that file system.
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

  /// True for this tree's numbers; those of the working tree are smaller.
  package static func owns(_ inode: UInt64) -> Bool { inode >= MetaNodes.values }

  package var nodeCount: Int { nodes.count }

  /// Sets the limit and the listener for more than `limit` nodes plus an eighth of those that had to stay; returns
  /// their number. The listener is called with a lock held and must return at once.
  @discardableResult
  package func watchCrowd(limit: Int, isCrowded: @escaping @Sendable () -> Void) -> Int {
    nodes.watchCrowd(limit: limit, isCrowded: isCrowded)
  }

  /// Returns the least recently used names; forgetting them frees about `wanted` nodes.
  package func coldNames(toFree wanted: Int, sparing use: KernelUse) -> [KernelName] {
    nodes.coldNames(toFree: wanted, sparing: use)
  }

  /// Looks up `.llvs` in a directory, and counts a look-up; ``FSError/noEntry`` elsewhere inside `.llvs`.
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
  package func lookup(_ parent: UInt64, _ name: [UInt8]) throws(FSError) -> MetaEntry {
    let directory = try nodes.node(parent)
    guard directory.content.kind == .directory else { throw .notDirectory }
    guard name.count <= 255 else { throw .nameTooLong }
    guard !name.isEmpty, !name.contains(0), !name.contains(0x2F) else { throw .noEntry }
    guard let found = try child(of: directory, named: name) else { throw .noEntry }
    return try adopt(found, in: directory, name: name)
  }

  struct Found {
    var content: MetaContent
    var numbering: MetaNodes.Numbering
    /// The entry of a value or directory, if it is known.
    var entry: Entry?

    init(_ content: MetaContent, numbering: MetaNodes.Numbering? = nil, entry: Entry? = nil) {
      self.content = content
      self.numbering = numbering ?? content.numbering
      self.entry = entry
    }
  }

  func adopt(
    _ found: Found, in directory: MetaNode, name: [UInt8]
  ) throws(FSError) -> MetaEntry {
    let node = nodes.adopt(
      found.content, numbering: found.numbering, under: directory.inode, directory, name: name)
    return try entry(of: node, found.entry)
  }

  /// Returns a counted node's entry, or on an error lowers its count.
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

  /// Counts a look-up by number; ``FSError/stale`` for a node that the kernel has forgotten.
  package func lookup(number inode: UInt64) throws(FSError) -> MetaEntry {
    try entry(of: try nodes.again(inode))
  }

  package func forget(_ inode: UInt64, count: UInt64) {
    guard let last = nodes.forget(inode, count: count) else { return }
    if case .writable(let file) = last.content { file.place.tidy(file) }
  }

  package func parent(of inode: UInt64) throws(FSError) -> UInt64 {
    let node = try nodes.node(inode)
    if case .meta(let root) = node.content { return root }
    return node.parent?.inode ?? TreeSession.rootInode
  }

  /// Returns the path of the working tree's directory above a node.
  func rootPath(of node: MetaNode) throws(FSError) -> [UInt8] {
    guard let path = live.path(of: node.root) else { throw .noEntry }
    return path
  }

  /// Returns a link's target; ``FSError/invalid`` for another node.
  package func readlink(_ inode: UInt64) throws(FSError) -> [UInt8] {
    let node = try nodes.node(inode)
    switch node.content {
    case .link(let target): return target
    case .value(let number, let key):
      let entry = try entry(number, key)
      guard entry.kind == .symlink else { throw .invalid }
      return LinkTarget.shown(
        try FSError.translating(try store.contents.linkTarget(entry.stored)))
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

func joined(_ path: [UInt8], _ name: some Collection<UInt8>) -> [UInt8] {
  path.isEmpty ? Array(name) : path + [0x2F] + name
}
