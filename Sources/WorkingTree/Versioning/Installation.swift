import LLVSCore
import TreeNames

/// One difference between the tree that the live tree expects and the new head's.
struct ForeignChange {
  var path: [UInt8]
  /// Where the value was shown before, if that was elsewhere in the same directory.
  var from: [UInt8]?
  /// The number of the directory that holds it; 0 for one that no entry stands for, or that is new.
  var parent: UInt64
  var old: Entry?
  var new: Entry?
}

extension ForeignChange {
  /// A change in which what is long of either side is left out: a merge may bring gigabytes of extended
  /// attributes, and the kernel asks for those of few files.
  init(path: [UInt8], parent: UInt64, shortening old: Entry?, _ new: Entry?) {
    self.init(path: path, parent: parent, old: old?.shortened, new: new?.shortened)
  }
}

/// A directory without an entry of its own that came with what is below it, or went.
struct ImpliedChange {
  var path: [UInt8]
  var parent: UInt64
  var isThere: Bool
}

/// A head to be put under the live tree.
struct Installation {
  var base: TreeView
  var head: VersionNumber?
  /// The version that holds what the plan took, as far as one was made on the plan's head.
  var ownVersion: VersionNumber?
  /// The entries that the plan's nodes have in the new base.
  var entries: PlannedEntries
  /// The nodes whose changes were put on older predecessors, and the versions made on those.
  var stale: Set<UInt64> = []
  var sides: [CutPlan.Side: VersionNumber] = [:]
  /// Who set attributes that the cut took of what it had seen as it was.
  var informed: Set<ReaderMemory.Place> = []
  /// Values that the cut shows under other names: directories came to their paths or went from them, or they
  /// moved with one.
  var renamed: [ForeignChange] = []
  /// What differs from the plan's outcome: what merges and switches brought, parents first.
  var foreign: [ForeignChange] = []
  var implied: [ImpliedChange] = []
  /// Directories that lose their entries, or did before, and are there all the same, for what is below them;
  /// and the numbers that they keep.
  var withoutEntries: [(path: [UInt8], inode: UInt64)] = []
  /// Directories that stayed for what was made in them, and of which nothing is left: by number.
  var ended: Set<UInt64> = []
  /// Nodes whose numbers the base has not learned.
  var renumbered: Set<UInt64> = []
  /// Whether the tree was carried to a version that did not come of the one that it showed.
  var leavesHistory = false
  /// Nodes whose numbers the base learns, and places where it has them.
  var renewed: [(inode: UInt64, place: MapPlace)] = []
  /// Nodes whose places have the numbers of others, which the plan put there too.
  var unlearned: Set<UInt64> = []
  /// Whether the base has learned the numbers of all other nodes that the plan names.
  var learnsNumbers = false
}

extension Installation {
  /// The nodes that stand at places of the new base whatever its map says.
  mutating func places(
    of plan: CutPlan, _ shown: ShownTree, _ made: CutVersions.Made
  ) throws(StoreError) -> [MapPlace: UInt64] {
    // A version that is put under the tree as it was made has the numbers that the plan put there.
    let isOwn = made.own != nil && head == made.own && !made.isApart
    var placed = isOwn ? [:] : shown.placed
    for renewal in plan.renewals {
      let key = try plan.base.key(forNewPath: renewal.path, isDirectory: renewal.isDirectory)
      let place = MapPlace(key: key, isDirectory: renewal.isDirectory)
      let inode = shown.placed[place] ?? renewal.node.inode
      placed[place] = inode
      renewed.append((renewal.node.inode, place))
      if inode != renewal.node.inode { unlearned.insert(renewal.node.inode) }
    }
    return placed
  }

  /// Takes the map that is put under the tree, and what it has otherwise than the tree shows.
  mutating func put(
    _ map: ValueMap, _ difference: LiveMap.Difference, after plan: CutPlan, _ shown: ShownTree,
    _ placed: [MapPlace: UInt64]
  ) throws(StoreError) {
    entries = try shown.entries(in: map)
    for (inode, place) in renewed where entries[inode] == nil && !unlearned.contains(inode) {
      guard var entry = try shown.map.entry(at: place.key, directory: place.isDirectory) else {
        continue
      }
      entry.inode = inode
      entries[inode] = entry
    }
    base = TreeView(map: map)
    foreign = difference.changes
    implied = difference.implied
    try findWithoutEntries()
    try endKept(of: plan)
    // First to where the cut shows them, which is what the differences begin with.
    try LiveMap.add(try plan.displacements(in: shown.map), to: &renamed, from: plan.base, placed)
    let view = TreeView(map: shown.map)
    for (path, entry) in shown.displacedCopies {
      let now = try view.path(of: entry.key)
      guard now != path else { continue }
      renamed.append(
        ForeignChange(
          path: now, from: path, parent: try Self.parent(of: now, in: view, placed), old: entry,
          new: entry))
    }
    learnsNumbers = true
  }

  /// Ends directories of the plan that stayed for what was made in them, where nothing is left of that.
  mutating func endKept(of plan: CutPlan) throws(StoreError) {
    for (path, inode, parent) in plan.kept {
      if case .directory(let entry)? = try base.find(path: path) {
        // What was made in it says that it is there.
        if entry == nil, try plan.base.find(path: path) == nil {
          withoutEntries.append((path, inode))
        }
        continue
      }
      ended.insert(inode)
      implied.append(ImpliedChange(path: path, parent: parent, isThere: false))
    }
  }

  private mutating func findWithoutEntries() throws(StoreError) {
    let candidates = foreign.filter { change in
      change.new == nil && change.old?.isDirectory ?? false && change.old?.inode != 0
    }
    guard !candidates.isEmpty else { return }
    // A number may have gone elsewhere, with an entry of its own.
    let elsewhere = Set(foreign.compactMap { $0.new?.inode })
    for change in candidates {
      guard let old = change.old, !elsewhere.contains(old.inode),
        case .directory(nil)? = try base.find(path: change.path)
      else { continue }
      withoutEntries.append((change.path, old.inode))
    }
  }

  private static func parent(
    of path: [UInt8], in view: TreeView, _ placed: [MapPlace: UInt64]
  ) throws(StoreError) -> UInt64 {
    let above = path.lastIndex(of: 0x2F).map { Array(path[..<$0]) } ?? []
    return try LiveMap.inode(ofDirectory: above, in: view, placed)
  }
}
