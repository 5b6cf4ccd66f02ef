package import Events
package import Grammar
package import Inodes
package import LLVSCore
package import Platform
package import TreeNames

// The live tree: the head's map, with what is pending laid over it.
//
// A directory's names are the base's children of its `basePath`, corrected by its `overrides`. A node
// differs from the base, or lies above one that does, if and only if it stands in its parent's overrides
// ("touched"), so what is pending is found by walking overrides from the root and nothing else.
//
// Lock order: LiveTree.lock -> Journal.state. The lock is held for memory only: the base is read, the
// journal written and the kernel told outside it. What was read outside is used only if `baseStamp`
// and the directory's stamp are what they were.

/// The writable tree of a mount, as data: knows nothing of FUSE.
///
/// - Concurrency: every operation may be called from any thread.
package final class LiveTree: @unchecked Sendable {
  // Unchecked: all mutable state is guarded by `lock`.

  /// The root's inode number, which is also FUSE's.
  package static let rootInode: UInt64 = 1

  package let store: Store
  package let journal: Journal
  package let defaults: AttributeDefaults
  let threads = ThreadGroups()
  /// Does a part of making a version.
  let versionHelper = ForkJoin(name: "llvs-version")
  /// Who is told of damage that reading meets.
  package var damage: DamageReport { journal.damage }
  /// How the commands did that the newest merge asked which asked any; nil where none failed.
  package let arbiterFailures = Monitor<ArbiterTrials.Summary?>(nil)
  let extendedCache = ExtendedCache()
  // A state of no size would share its address with a field, which the thread sanitizer takes for a race.
  package let lock = Monitor(false)

  // MARK: Guarded by `lock`

  /// By inode number.
  var nodes = NodeTable()
  /// Those whose number for the kernel is not their inode number, by that.
  var identified: [UInt64: LiveNode] = [:]
  /// Those of them that are directories.
  var directories = NodeTable()
  var crowd = Crowd()
  /// Grows with every look-up.
  var uses: UInt64 = 0
  let root: LiveNode
  /// The head's tree.
  package var base: TreeView
  /// The same for looking names up: without long extended attributes, which nodes do not have either.
  var names: TreeView
  /// Its map, for nodes that refer to what stands there.
  var source: AttributeSource
  /// Those of other maps that replay meets, by their roots.
  var replayedSources: [MapRoot: AttributeSource] = [:]
  /// Changes whenever ``base`` does.
  var baseStamp: UInt64 = 1
  /// The version the tree continues from; nil before the first.
  package var head: VersionNumber?
  /// The epoch that changes are made in now, and the predecessors of all that changes still name.
  var epoch: UInt64
  var epochs: Epochs
  /// The first epoch since the tree was carried to a version that did not come of what it showed: who has
  /// seen the same version before that has not seen what is made on it since.
  var lineEpoch: UInt64 = 0
  /// Grows with every change.
  var stamp: UInt64 = 0
  /// Files with unsaved bytes, by inode.
  var unsavedNodes: [UInt64: LiveNode] = [:]
  /// Nodes whose name a merge gave other bytes while they were open or the kernel knew them.
  var detachedNodes: [UInt64: Detached] = [:]
  /// Those of them whose names a merge took away.
  var left: Set<UInt64> = []
  /// When something was last saved, made, renamed or removed, on the monotonic clock.
  var lastActivity: UInt64 = 0
  /// When the first change came since the last cut; nil while nothing is pending.
  var firstPending: UInt64?
  /// Something was saved, made, renamed or removed since the last cut.
  var hasTakeable = false
  var spareInodes: Range<UInt64> = 0..<0
  /// Inode numbers of directories that no entry stands for, by path.
  var impliedInodes: [ImpliedName: UInt64] = [:]
  /// The store's own patterns; files `.llvsignore` add to them.
  package internal(set) var ignore: IgnorePatterns
  var ignoreKnowledge = IgnoreKnowledge()
  package var settings: StoreSettings
  /// When versions were made, for entries without a recorded time.
  var storedTimes: [VersionNumber: Attributes.Time] = [:]
  /// A plan was taken and neither installed nor given up: what it names may come to be in the base, so
  /// every absence is remembered meanwhile.
  var isPlanning = false
  /// The mtimes that are shown instead of the recorded ones, by inode, while this tree lives: of files
  /// written with the bytes they had (`make` goes by that), and, where the setting `mtime=now` says so,
  /// when merges gave bytes to names.
  var shownTimes: [UInt64: Attributes.Time] = [:]
  /// Files in memory to which an install may have given more names; see `completeLinks`.
  var grownLinks: Set<UInt64> = []
  /// Access times that differ from the mtime. The oldest notes are dropped; such files show their mtime.
  var accessTimes = RecentTable<Attributes.Time>(limit: 1 << 16)
  var accessRules = AccessRules()
  /// A program opened a file by a number that the kernel had forgotten.
  var isExported = false
  /// The paths of nodes that were dropped from memory, once ``isExported`` is true.
  var whereabouts = RecentTable<[UInt8]>(limit: 1 << 16)
  /// Room that files were given and do not use.
  var allocations = Allocations()
  /// Replay's difference between the monotonic clock and the time of day; nil in a live tree.
  var replayShift: Int64?
  /// Detached nodes that the kernel still finds at their names.
  var untold: [UInt64] = []
  /// What programs move while the kernel is being told of an install; nil at other times.
  var untoldNames: UntoldNames?
  /// What processes last saw at names that they opened for reading.
  var readers = ReaderMemory()
  /// Where that stands of processes that set attributes of files since the last cut, by the files.
  var setters: [UInt64: Set<ReaderMemory.Place>] = [:]
  /// The stamp at which what nothing refers to was last given back to the disk.
  var reclaimedAt: UInt64 = .max
  /// How often cuts have learned which save to leave out, or to read once more.
  var leftOut: UInt64 = 0
  /// Names that others' versions changed since the versioner last told of them.
  var shownChanges: [ShownChange] = []
  /// Somebody wants to hear of those.
  package var tellsOfShown = false
  /// Called once when something becomes pending, with the lock held.
  package var wake: (@Sendable () -> Void)?

  /// A node that lives on with its bytes after a merge gave its name others: for its handles, and for
  /// whoever finds it in the kernel before that is told.
  struct Detached {
    let node: LiveNode
    /// The directory of the name; ``nowhere`` where a merge took the name away, perhaps with its directory.
    let parent: UInt64
    /// The name; where a merge took it away, its path.
    var name: [UInt8]
    /// The inode that stands at the name since merges gave it to that; ``anybody`` where one took it away, or
    /// gave it to a file that may not be in memory.
    var successor: UInt64
    /// The tree that its handles have seen: before the merge, then what its last save went into.
    var epoch: UInt64
    /// How it is shown until the kernel was told that it has no name.
    var shown: (inode: UInt64, links: UInt32)?

    /// A name in a directory.
    struct Place: Hashable {
      let parent: UInt64
      let name: [UInt8]
    }

    /// No directory's number.
    static let nowhere: UInt64 = 0
    /// No file's number.
    static let anybody: UInt64 = 0
  }

  init(
    store: Store, journal: Journal, defaults: AttributeDefaults, base: TreeView,
    head: VersionNumber?,
    epoch: UInt64, epochs: Epochs, ignore: IgnorePatterns,
    settings: StoreSettings
  ) {
    self.store = store
    self.journal = journal
    self.defaults = defaults
    self.base = base
    names = TreeView(map: base.map.shortened)
    source = AttributeSource(base.map)
    self.head = head
    self.epoch = epoch
    self.epochs = epochs
    self.ignore = ignore
    self.settings = settings
    root = LiveNode(
      inode: Self.rootInode, kind: .directory, parent: nil, name: [], entry: nil,
      attributes: Attributes(mode: 0o755), ctime: Self.now(),
      directory: LiveDirectory(basePath: []))
    root.lookups = 1
    root.isTouched = true
    root.isJournaled = true
    remember(root)
  }

  package static func now() -> Attributes.Time {
    let time = SystemClock.realtime()
    return Attributes.Time(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }

  /// The node of a number that the kernel was given.
  ///
  /// - Throws: ``FSError/stale`` for a number nobody was given.
  func node(_ id: UInt64) throws(FSError) -> LiveNode {
    guard let node = known(id) else { throw .stale }
    return node
  }

  /// The node of a number that the kernel was given; nil for one that nobody was given.
  func known(_ id: UInt64) -> LiveNode? {
    if !identified.isEmpty, let node = identified[id] { return node }
    guard let node = nodes[id], node.kernelID == id else { return nil }
    return node
  }

  func directory(_ id: UInt64) throws(FSError) -> LiveNode {
    let node = try node(id)
    guard node.kind == .directory else { throw .notDirectory }
    return node
  }

  /// Drops a node that nothing needs any more, and its parents likewise.
  func dropIfUnused(_ start: LiveNode) {
    if !allocations.isEmpty, start.parent == nil, start.handles == 0 {
      allocations.remove(start.inode)
    }
    var node = start
    while node.lookups == 0, node.handles == 0, node.pins == 0, !node.isTouched,
      node.inode != Self.rootInode, detachedNodes[node.inode] == nil
    {
      if isExported { whereabouts[node.inode] = node.path }
      nodes.remove(node.inode)
      if node.kernelID != node.inode { identified[node.kernelID] = nil }
      if node.kind == .directory { directories.remove(node.inode) }
      crowd.weight -= node.directory?.weight ?? 0
      noteFreed(1)
      let further = node.furtherNames
      if !further.isEmpty { node.changeFurtherNames { $0 = NodeNames() } }
      for one in further {
        one.parent.pins -= 1
        dropIfUnused(one.parent)
      }
      guard let parent = node.parent else { break }
      node.leave()
      node = parent
    }
    crowd.noteCount(crowdCount)
  }

  // MARK: - Status

  func status(of node: LiveNode) -> NodeStatus {
    let stored = node.attributes
    let mode = defaults.mode(stored, of: node.kind)
    let mtime = stored.mtime ?? node.born
    let owner = defaults.owner(stored)
    var inode = node.inode
    var links =
      node.kind == .directory ? links(ofDirectory: node) : 1 + UInt32(node.furtherNames.count)
    if node.parent == nil, node.inode != Self.rootInode {
      (inode, links) = detachedNodes[node.inode]?.shown ?? (inode, 0)
    }
    var status = NodeStatus(
      inode: inode, kind: node.kind, mode: mode, links: links, uid: owner.uid, gid: owner.gid,
      device: stored.device ?? Attributes.Device(major: 0, minor: 0),
      size: node.kind == .directory ? 4096 : node.size,
      stored: node.kind == .directory
        ? 4096 : node.storedSize + allocations.bytes(of: node.inode), mtime: mtime,
      ctime: node.ctime,
      atime: accessTimes[node.inode] ?? mtime)
    status.node = node.kernelID
    return status
  }

  /// A node's attributes, with the links of a directory counted.
  package func getattr(_ inode: UInt64) throws(FSError) -> NodeStatus {
    counting(try lock.withLock { _ throws(FSError) in status(of: try node(inode)) })
  }

  /// Changes whenever another head was put under the tree.
  package var installations: UInt64 { lock.withLock { _ in baseStamp } }

  // MARK: - The kernel's memory

  /// The kernel forgets `count` look-ups of a node.
  package func forget(_ inode: UInt64, count: UInt64) {
    lock.withLock { _ in
      guard let node = known(inode), inode != Self.rootInode else { return }
      node.lookups -= min(node.lookups, count)
      settleDetached(node)
      dropIfUnused(node)
    }
  }

  /// How many nodes are in memory.
  package var nodeCount: Int { lock.withLock { _ in crowdCount } }

  /// Brings everything that is pending to the disk.
  ///
  /// - Throws: ``FSError/system(_:)``.
  package func sync() throws(FSError) {
    try journal.sync()
  }
}
