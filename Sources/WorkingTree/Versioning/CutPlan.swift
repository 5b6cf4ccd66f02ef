import Inodes
import LLVSCore
import TreeNames

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
    /// As the node has them; see ``wholeAttributes()``.
    let attributes: Attributes
    private let storedExtended: StoredExtended?
    let explicitTime: Bool
    /// What the base holds for it, as the node has it; see ``wholeEntry()``.
    var entry: Entry? { base?.entry }
    /// The newest save, which counts if it was followed by enough quiet.
    let newest: Save?
    /// The save to take if the newest does not count.
    let fallback: Save?
    let standsAsSaved: Bool
    /// The newest save whatever counts, which replay takes.
    private let latest: SavedState?
    /// The oldest epoch that anything pending of the file was made in.
    let priorEpoch: UInt64
    // Aside, since what is new has none, and an entry is larger than all the rest.
    private let base: BaseEntry?
    /// The save that the cut takes; nil for the base's bytes.
    private(set) var taken: Save?
    /// A directory that only names below say is there, from which one went: put where none is left.
    let isThinned: Bool
    /// The cut found the bytes and attributes of before, so the new mtime is in no version
    /// (docs/writes.md, rule 4).
    var isRewritten = false

    init(
      node: LiveNode, entry: Entry?, newest: Save?, fallback: Save?, standsAsSaved: Bool,
      latest: SavedState?, priorEpoch: UInt64, isThinned: Bool
    ) {
      self.node = node
      self.isThinned = isThinned
      stamp = node.stamp
      kind = node.kind
      attributes = node.attributes
      storedExtended = node.storedExtended
      explicitTime = node.explicitTime
      base = entry.map { BaseEntry($0, node.baseExtended) }
      self.newest = newest
      self.fallback = fallback
      self.standsAsSaved = standsAsSaved
      self.latest = latest
      self.priorEpoch = priorEpoch
    }

    /// The attributes with those that only a version has.
    ///
    /// - Throws: what reading them throws.
    func wholeAttributes() throws(StoreError) -> Attributes {
      var whole = attributes
      if let storedExtended { whole.extended = try storedExtended.read() }
      return whole
    }

    /// What the base holds for it, with all its attributes.
    ///
    /// - Throws: what reading them throws.
    func wholeEntry() throws(StoreError) -> Entry? {
      guard let base, let extended = base.extended else { return entry }
      return base.entry.whole(with: try extended.read())
    }

    /// Decides which save counts, once it is known; call with the tree's lock held.
    func choose(settle: UInt64) {
      taken = newest ?? fallback
      guard let newest, !standsAsSaved, !newest.state.isSynced else { return }
      if let broken = newest.state.brokenTick, broken < newest.state.tick &+ settle {
        taken = fallback
      }
    }

    /// What is recorded of the decision; nil where replay comes to the same by itself.
    var choice: CutRecord.Choice? {
      if taken?.state === latest { return nil }
      return taken == nil ? .base : .fallback
    }

    /// Decides as a cut did that was committed.
    func choose(_ choice: CutRecord.Choice) {
      switch choice {
      case .fallback: taken = fallback
      case .base: taken = nil
      }
    }
  }

  /// What the base holds for a node.
  private final class BaseEntry {
    let entry: Entry
    let extended: StoredExtended?

    init(_ entry: Entry, _ extended: StoredExtended?) {
      self.entry = entry
      self.extended = extended
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
    var epoch: UInt64
    var action: Action
    /// What a detached file and others at its name hold is told apart by versions of their own: 0 for what
    /// the tree shows, and for what detached files hold from 1 on, by how many are at the path before. Whoever
    /// has seen what the tree shows has not seen those.
    var turn = 0
    /// A merge or a switch took the name away.
    var isLeft = false
  }

  /// One of the versions that a cut makes: what it is made on, and which of those made on that it is.
  struct Side: Hashable, Comparable {
    var predecessor: VersionNumber?
    var turn = 0
    /// It takes what belongs at names that merges or switches took away.
    var isLeft = false

    /// Ancestors first; of one predecessor what the tree shows last, which is the newer then.
    static func < (a: Side, b: Side) -> Bool { a.order < b.order }

    private var order: (UInt32, Int, Int) { (predecessor?.rawValue ?? 0, -turn, isLeft ? 0 : 1) }
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
  /// The epochs of those who go on with what is put into another version than that on the head, by that:
  /// they have seen what the cut makes of it, and not the head.
  var sideEpochs: [Side: UInt64] = [:]
  /// The tree the plan is a difference from.
  let base: TreeView
  let head: VersionNumber?
  /// Parents before children.
  var items: [Item] = []
  /// Paths of files with bytes that no save covers.
  var unsaved: [[UInt8]] = []
  /// The names of detached files with bytes that no save covers.
  var unsavedDetached: [[UInt8]] = []
  /// Paths of files whose saved bytes cannot be read any more.
  var unreadable: [[UInt8]] = []
  /// The files whose newest saves cannot be read.
  var unreadableNodes: Set<UInt64> = []
  /// The directories that had overrides, and where they stood.
  var directories: [(LiveNode, [UInt8])] = []
  /// When names last came to or went from them, where utimensat(2) said nothing else.
  var directoryTimes: [UInt64: Attributes.Time] = [:]
  /// The root's attributes, if they were changed.
  var rootAttributes: Attributes?
  /// Detached nodes whose bytes the plan takes.
  var detached: [LiveNode] = []
  /// The paths at which more than one node is put.
  var contested: Set<[UInt8]> = []
  var renewals: [Renewal] = []
  /// Files that versions take, or took, at other names than one that is kept out of them: their names stay
  /// with the tree, which alone knows that one.
  var scratch: Set<UInt64> = []
  /// Directories that stay where the base has none, or none with an entry of its own, for what was made in
  /// them: the base may have a value there, from which what is put below takes the name.
  var kept: [(path: [UInt8], inode: UInt64, parent: UInt64)] = []
  /// Whether nothing is left in one of these: it goes, also where there is nothing to make a version of.
  var hasEmptied = false
  /// Where names below alone said that there was a directory, or do, whose number an entry of its own has
  /// from this cut on.
  var numbered: [[UInt8]] = []
  /// Where the memory stands of those who made or removed names that the plan takes, and what it takes there.
  var readers: [(place: ReaderMemory.Place, item: Item)] = []
  /// Who set attributes that the plan takes: where its memory stands, what it has seen there, and the file.
  var setters: [(place: ReaderMemory.Place, epoch: UInt64, item: Item)] = []
  /// Names that were absent at the instant.
  var absent: Set<[UInt8]> = []
  /// Where directories of the base stand now, by where they stood.
  var moves: [[UInt8]: [UInt8]] = [:]
  /// The predecessor that each epoch stands for.
  var predecessors = Epochs()

  /// Where they stood, by where they stand now.
  var origins: [[UInt8]: [UInt8]] = [:]
  /// The lowest epoch of the moved directories that the walk is in.
  var lowestAbove = UInt64.max

  /// Notes that a directory of the base stands elsewhere now.
  mutating func noteMove(from before: [UInt8], to path: [UInt8]) {
    moves[before] = path
    origins[path] = before
  }

  /// Where the moved directories stood that a path is in, or that stand at it.
  func origins(above path: [UInt8]) -> [[UInt8]] {
    guard !origins.isEmpty else { return [] }
    let ends = path.indices.filter { path[$0] == 0x2F } + [path.endIndex]
    return ends.compactMap { origins[Array(path[..<$0])] }
  }

  func predecessor(of item: Item) -> VersionNumber? { predecessors[item.epoch] ?? head }

  /// The version that an item goes into.
  func side(of item: Item) -> Side {
    Side(predecessor: predecessor(of: item), turn: item.turn, isLeft: item.isLeft)
  }

  /// The one that the live tree's own changes of the head go into.
  var ownSide: Side { Side(predecessor: head) }

  /// The epoch that whoever goes on with what an item takes has seen.
  func epochAfter(_ item: Item) -> UInt64 {
    let side = side(of: item)
    return side == ownSide ? nextEpoch : sideEpochs[side] ?? nextEpoch
  }

  /// Adds a change: below a directory whose name has seen less than who made it, it goes where the name goes.
  mutating func add(_ item: Item) {
    var item = item
    item.epoch = min(item.epoch, lowestAbove)
    items.append(item)
  }

  /// Adds what detached nodes hold, as changes of the names they had.
  mutating func add(detached: [Item]) {
    guard !detached.isEmpty else { return }
    let paths = Set(detached.map(\.path))
    for item in items where paths.contains(item.path) {
      if case .put = item.action { contested.insert(item.path) }
    }
    var before: [[UInt8]: Int] = [:]
    for var item in detached {
      let count = before[item.path, default: 0] + 1
      if count > 1 { contested.insert(item.path) }
      before[item.path] = count
      item.turn = count
      items.append(item)
    }
  }
}
