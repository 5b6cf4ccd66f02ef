import Inodes
import LLVSCore
import Platform
import TreeNames

// A change is applied first and recorded then, so that nobody waits for the disk with the lock held. Where it
// cannot be recorded, whoever asked for it is told so, and it is taken back: what is shown is what was before,
// and the record, which the kernel did not take, is made into one that changes nothing.
//
// Somebody may have changed the same thing in between, and is told of a failure as well, or not: then it stays
// as he left it. So it does while a version is being made, which may hold it.

extension LiveTree {
  /// Records a change that was applied, or takes it back.
  ///
  /// - Parameters:
  ///   - records: where its records end in the journal.
  ///   - before: what it found.
  /// - Throws: ``FSError/system(_:)`` where it could not be recorded.
  func commit(
    _ records: [Journal.Position], orRestore before: some ChangedState
  ) throws(FSError) {
    guard let last = records.last else { return }
    do throws(FSError) {
      try journal.commit(through: last)
    } catch {
      guard !takeBack(records, before) else { throw error }
    }
  }

  /// Takes back a change that could not be recorded; false where it was recorded all the same.
  private func takeBack(_ records: [Journal.Position], _ before: some ChangedState) -> Bool {
    while true {
      let outcome = lock.withLock { _ -> Journal.Withdrawal in
        guard !isPlanning, before.isLatest else { return .settled }
        let outcome = journal.withdraw(records)
        if case .withdrawn = outcome {
          stamp += 1
          before.restore(in: self)
        }
        return outcome
      }
      switch outcome {
      case .withdrawn, .settled: return true
      case .recorded: return false
      case .underWay: journal.awaitWriter()
      }
    }
  }
}

/// What a change found where it changed something; guarded by the tree's lock.
protocol ChangedState {
  /// Whether nobody has changed the same since.
  var isLatest: Bool { get }

  /// Puts it back.
  func restore(in tree: LiveTree)
}

/// A node's attributes; of the time of access who changes it knows what it was.
struct AttributesBefore: ChangedState {
  private let node: LiveNode
  private let attributes: Attributes
  private let storedExtended: StoredExtended?
  private let attributesChanged: Bool
  private let explicitTime: Bool
  private let ctime: Attributes.Time
  private let atime: Attributes.Time?
  private let stamp: UInt64
  private let fileExplicitTime: Bool?
  private let saved: (mtime: Attributes.Time?, explicitTime: Bool)?
  /// The node's stamp once it was changed.
  var changed: UInt64 = 0

  init(_ node: LiveNode, atime: Attributes.Time?) {
    self.node = node
    self.atime = atime
    attributes = node.attributes
    storedExtended = node.storedExtended
    attributesChanged = node.attributesChanged
    explicitTime = node.explicitTime
    ctime = node.ctime
    stamp = node.stamp
    fileExplicitTime = node.file?.explicitTime
    saved = node.file?.saved.map { ($0.mtime, $0.explicitTime) }
  }

  var isLatest: Bool { node.stamp == changed }

  func restore(in tree: LiveTree) {
    node.attributes = attributes
    node.storedExtended = storedExtended
    node.attributesChanged = attributesChanged
    node.explicitTime = explicitTime
    node.ctime = ctime
    tree.accessTimes[node.inode] = atime
    node.stamp = stamp
    if let fileExplicitTime { node.file?.explicitTime = fileExplicitTime }
    if let saved {
      node.file?.saved?.mtime = saved.mtime
      node.file?.saved?.explicitTime = saved.explicitTime
    }
  }
}

/// A file's bytes, as far as a change reaches.
struct BytesBefore: ChangedState {
  private let node: LiveNode
  private let size: UInt64
  private let range: Range<UInt64>
  private let extents: [Extent]
  private let mtime: Attributes.Time?
  private let ctime: Attributes.Time
  private let explicitTime: Bool
  private let stamp: UInt64
  private let file: Pending?
  /// The node's stamp once it was changed.
  var changed: UInt64 = 0

  /// The pending side; nil where there was none.
  private struct Pending {
    let unsaved: Bool
    let neverSaved: Bool
    let steady: Bool
    let writerEpoch: UInt64
    let lastWriteTick: UInt64
    let explicitTime: Bool
    let mapped: Bool
    let saved: SavedState?
    let brokenTick: UInt64?
    let counted: SavedState?
  }

  init(_ node: LiveNode, _ range: Range<UInt64>) {
    self.node = node
    self.range = range
    size = node.size
    // Bytes at the end, which most writes bring, find nothing there.
    extents = range.lowerBound < size ? node.content.extents.extents(in: range) : []
    mtime = node.attributes.mtime
    ctime = node.ctime
    explicitTime = node.explicitTime
    stamp = node.stamp
    file = node.file.map {
      Pending(
        unsaved: $0.unsaved, neverSaved: $0.neverSaved, steady: $0.steady,
        writerEpoch: $0.writerEpoch, lastWriteTick: $0.lastWriteTick,
        explicitTime: $0.explicitTime, mapped: $0.mapped, saved: $0.saved,
        brokenTick: $0.saved?.brokenTick, counted: $0.counted)
    }
  }

  var isLatest: Bool { node.stamp == changed }

  func restore(in tree: LiveTree) {
    node.attributes.mtime = mtime
    node.ctime = ctime
    node.explicitTime = explicitTime
    node.stamp = stamp
    guard let file, let now = node.file else {
      // What it shows is the base's again.
      node.file = nil
      tree.unsavedNodes[node.inode] = nil
      return
    }
    now.content.punchHole(range)
    now.content.resize(to: size)
    for extent in extents { now.content.extents.put(extent) }
    now.unsaved = file.unsaved
    now.neverSaved = file.neverSaved
    now.steady = file.steady
    now.writerEpoch = file.writerEpoch
    now.lastWriteTick = file.lastWriteTick
    now.explicitTime = file.explicitTime
    now.mapped = file.mapped
    now.saved = file.saved
    now.saved?.brokenTick = file.brokenTick
    now.counted = file.counted
    tree.unsavedNodes[node.inode] = file.unsaved ? node : nil
  }
}

/// What a call finds that may change a node's size and attributes.
struct StatusBefore: ChangedState {
  private let bytes: BytesBefore?
  private let attributes: AttributesBefore
  private let node: LiveNode
  /// The node's stamp once it was changed.
  var changed: UInt64 = 0

  /// - Parameters:
  ///   - node: the node.
  ///   - size: the one that it gets, if any.
  ///   - atime: the time of access that it had.
  init(_ node: LiveNode, size: UInt64?, atime: Attributes.Time?) {
    self.node = node
    bytes = size.map { BytesBefore(node, $0..<max($0, node.size)) }
    attributes = AttributesBefore(node, atime: atime)
  }

  var isLatest: Bool { node.stamp == changed }

  func restore(in tree: LiveTree) {
    // The bytes last: what was saved before comes back with them.
    attributes.restore(in: tree)
    bytes?.restore(in: tree)
  }
}

/// What stands at one name or two, and how their directories show it.
struct NamesBefore: ChangedState {
  private struct Place {
    let directory: LiveNode
    let name: [UInt8]
    let override: Override?
    let mtime: Attributes.Time?
    let ctime: Attributes.Time
    let explicitTime: Bool
    let attributesChanged: Bool
    let stamp: UInt64

    init(_ directory: LiveNode, _ name: [UInt8]) {
      self.directory = directory
      self.name = name
      override = directory.directory?.overrides[name]
      mtime = directory.attributes.mtime
      ctime = directory.ctime
      explicitTime = directory.explicitTime
      attributesChanged = directory.attributesChanged
      stamp = directory.stamp
    }

    var now: Override? { directory.directory?.overrides[name] }
  }

  private struct Standing {
    let node: LiveNode
    let ctime: Attributes.Time
    let isMoved: Bool
    let stamp: UInt64
    let isUnsaved: Bool
    /// What a directory has that the change takes away: names that are gone.
    let removed: (overrides: [[UInt8]: Override], basePath: [UInt8]?)?

    init(_ node: LiveNode, isRemoved: Bool, in tree: LiveTree) {
      self.node = node
      ctime = node.ctime
      isMoved = node.isMoved
      stamp = node.stamp
      isUnsaved = tree.unsavedNodes[node.inode] != nil
      removed = isRemoved ? node.directory.map { ($0.overrides, $0.basePath) } : nil
    }
  }

  private let places: [Place]
  private let nodes: [Standing]
  /// What is at the places once they were changed, and the tree's stamp then.
  private var after: [LiveNode?] = []
  private var changed: UInt64 = 0

  /// - Parameters:
  ///   - places: names in directories, of which the journal knows the nodes.
  ///   - removed: the node that loses its name.
  ///   - tree: the tree that all of them are in.
  init(_ places: [(LiveNode, [UInt8])], removing removed: LiveNode?, in tree: LiveTree) {
    self.places = places.map { Place($0.0, $0.1) }
    nodes = self.places.compactMap(\.override?.node).map {
      Standing($0, isRemoved: $0 === removed, in: tree)
    }
  }

  /// Notes what the change made of it.
  mutating func noteChange(in tree: LiveTree) {
    after = places.map { $0.now?.node }
    changed = tree.stamp
  }

  var isLatest: Bool {
    zip(places, after).allSatisfy { (place, node) in
      let now = place.now
      return now?.node === node && (now.map { $0.stamp <= changed } ?? true)
        && (place.directory.inode == LiveTree.rootInode || place.directory.parent != nil)
    }
  }

  func restore(in tree: LiveTree) {
    for place in places { place.now?.node?.removeName(place.name, of: place.directory) }
    for one in nodes {
      if let removed = one.removed {
        one.node.directory?.overrides = removed.overrides
        one.node.directory?.basePath = removed.basePath
      }
      // A node without a name counted as gone, and may have been forgotten.
      if tree.nodes[one.node.inode] == nil { tree.remember(one.node) }
    }
    for place in places {
      place.directory.directory?.overrides[place.name] = place.override
      place.directory.directory?.stamp += 1
      place.directory.directory?.subdirectories = SubdirectoryCount()
      if let node = place.override?.node {
        node.addName(place.name, of: place.directory)
        node.isTouched = true
      }
    }
    for one in nodes {
      one.node.isMoved = one.isMoved
      if one.isUnsaved { tree.unsavedNodes[one.node.inode] = one.node }
      // Not where somebody wrote to it since.
      guard one.node.stamp == changed || one.node.stamp == one.stamp else { continue }
      one.node.ctime = one.ctime
      one.node.stamp = one.stamp
    }
    for place in places where place.directory.stamp == changed {
      place.directory.attributes.mtime = place.mtime
      place.directory.ctime = place.ctime
      place.directory.explicitTime = place.explicitTime
      place.directory.attributesChanged = place.attributesChanged
      place.directory.stamp = place.stamp
    }
  }
}
