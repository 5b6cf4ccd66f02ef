import LLVS

/// The saved state of the live tree at one instant, as differences from the base.
///
/// Made by a walk over what is pending, in memory alone; turned into versions afterwards, while the tree
/// goes on changing: everything in it is a copy that shares.
struct CutPlan {
  /// A node as the cut found it.
  ///
  /// An object, since items are grouped and passed on, and this is hundreds of bytes.
  final class NodeState {
    let node: LiveNode
    /// The node's stamp when the plan was made: the same later means no change since.
    let stamp: UInt64
    let kind: EntryKind
    let attributes: Attributes
    let explicitTime: Bool
    /// What the base holds for it.
    let entry: Entry?
    /// The newest save, which counts if it was followed by enough quiet.
    let newest: Save?
    /// The save to take if the newest does not count.
    let fallback: Save?
    let standsAsSaved: Bool
    /// The oldest epoch that anything pending of the file was made in.
    let priorEpoch: UInt64
    /// The save that the cut takes; nil for the base's bytes.
    private(set) var taken: Save?
    /// The cut found the bytes and attributes of before, so the new mtime is in no version (rule 4).
    var isRewritten = false

    init(
      node: LiveNode, entry: Entry?, newest: Save?, fallback: Save?, standsAsSaved: Bool,
      priorEpoch: UInt64
    ) {
      self.node = node
      stamp = node.stamp
      kind = node.kind
      attributes = node.attributes
      explicitTime = node.explicitTime
      self.entry = entry
      self.newest = newest
      self.fallback = fallback
      self.standsAsSaved = standsAsSaved
      self.priorEpoch = priorEpoch
    }

    /// Decides which save counts, once it is known; call with the tree's lock held.
    func choose(settle: UInt64) {
      taken = newest ?? fallback
      guard let newest, !standsAsSaved, !newest.state.isSynced else { return }
      if let broken = newest.state.brokenTick, broken < newest.state.tick &+ settle {
        taken = fallback
      }
    }
  }

  /// A save as it was at the instant of the cut.
  ///
  /// An object, since a plan of half a million items names most of them twice.
  final class Save {
    let state: SavedState
    let content: FileContent
    let mtime: Attributes.Time?
    let explicitTime: Bool

    init(_ state: SavedState) {
      self.state = state
      content = state.content
      mtime = state.mtime
      explicitTime = state.explicitTime
    }
  }

  enum Action {
    /// Nothing of the base's value or directory at the path remains.
    case removeTree
    /// The node stands at the path.
    case put(NodeState, isInPlace: Bool)
    /// What the base has below another path stands below this one, but for some names.
    case copyTree(from: [UInt8], except: Set<[UInt8]>)
  }

  struct Item {
    let path: [UInt8]
    let epoch: UInt64
    var action: Action
  }

  /// A name that shows a node whose number the base does not have there.
  struct Renewal {
    let path: [UInt8]
    let isDirectory: Bool
    let node: LiveNode
  }

  /// The cut's number, which its mark in the journal bears.
  let id: UInt64
  /// The tree's stamp at the instant: what has a greater one came later.
  let stamp: UInt64
  /// The epoch that began at the instant: what comes later has seen what the cut takes.
  var nextEpoch: UInt64
  /// The epochs of those who go on with what is put on an older predecessor, by that: they have seen what
  /// the cut makes of it, and not the head.
  var sideEpochs: [VersionNumber?: UInt64] = [:]
  /// The tree the plan is a difference from.
  let base: TreeView
  let head: VersionNumber?
  /// Parents before children.
  var items: [Item] = []
  /// Paths of files with bytes that no save covers.
  var unsaved: [[UInt8]] = []
  /// Paths of files whose saved bytes cannot be read any more.
  var unreadable: [[UInt8]] = []
  /// The directories that had overrides, and where they stood.
  var directories: [(LiveNode, [UInt8])] = []
  /// When names last came to or went from them, where utimensat(2) said nothing else.
  var directoryTimes: [UInt64: Attributes.Time] = [:]
  /// The root's attributes, if they were changed.
  var rootAttributes: Attributes?
  /// Detached nodes whose bytes the plan takes.
  var detached: [LiveNode] = []
  /// The paths of those whose names a merge had removed.
  var left: Set<[UInt8]> = []
  var renewals: [Renewal] = []
  /// Files that versions take, or took, at other names than one that is kept out of them: their names stay
  /// with the tree, which alone knows that one.
  var scratch: Set<UInt64> = []
  /// Names that were absent at the instant.
  var absent: Set<[UInt8]> = []
  /// Where directories of the base stand now, by where they stood.
  var moves: [[UInt8]: [UInt8]] = [:]
  /// The predecessor that each epoch stands for.
  var predecessors = Epochs()

  func predecessor(of item: Item) -> VersionNumber? { predecessors[item.epoch] ?? head }

  /// The epoch that whoever goes on with what an item takes has seen.
  func epochAfter(_ item: Item) -> UInt64 {
    let predecessor = predecessor(of: item)
    return predecessor == head ? nextEpoch : sideEpochs[predecessor] ?? nextEpoch
  }
}
