import Inodes
import LLVSCore
import Platform
import TreeNames

// Putting a new head under the live tree: after a cut, a merge, a switch or a restore.

extension LiveTree {
  /// Puts a head under the tree and drops what it covers; returns what the kernel must be told.
  ///
  /// Call with the lock held, one at a time. Pending changes keep their predecessors.
  func install(_ installation: Installation, after plan: CutPlan?) -> [Invalidation] {
    var told: [Invalidation] = []
    stamp += 1
    let seen = PlanSeen(before: epoch, detachedPlaces)
    if let plan {
      noteSeen(plan, installation, seen)
      settlePlan(plan, installation, seen)
      for change in installation.renamed { showElsewhere(change, seen, &told) }
      noteTaken(plan.items.count)
    }
    isPlanning = false
    base = installation.base
    names = TreeView(map: base.map.shortened)
    source = AttributeSource(base.map)
    baseStamp += 1
    head = installation.head
    // What was read before was another line's: who saves from here on goes on from this one.
    if installation.leavesHistory { readers = ReaderMemory() }
    let own = installation.ownVersion ?? plan?.head
    if let plan {
      // Whoever had seen the plan's head has seen the version made on it: the same bytes were shown.
      epochs.replace(plan.head, with: own, from: lineEpoch)
      epochs.set(plan.nextEpoch, own)
      for (side, id) in plan.sideEpochs {
        guard let made = installation.sides[side] else { continue }
        epochs.set(id, made)
      }
    }
    if plan == nil || own != installation.head {
      // What stands at names from here on is the new head's. A file that a merge detaches has seen what was
      // before.
      epoch += 1
      epochs.begin(epoch, installation.head)
      if installation.leavesHistory { lineEpoch = epoch }
    }
    // Values make room for directories, and take it from them, before either is looked at.
    for change in installation.foreign where change.from != nil {
      showElsewhere(change, seen, &told)
    }
    for (path, inode) in installation.withoutEntries { impliedInodes[ImpliedName(path)] = inode }
    let implied = installation.implied.sorted { $0.path.lexicographicallyPrecedes($1.path) }
    removeForeign(installation.foreign, implied, seen, &told)
    for change in installation.foreign where change.new != nil {
      installForeign(change, seen, &told)
    }
    for change in implied where change.isThere { installImplied(change, &told) }
    untoldNames = told.isEmpty ? nil : UntoldNames()
    return told
  }

  /// Takes away what goes, before the directory it is in, whether there are entries for either or not.
  ///
  /// Both lists are in the order of paths.
  private func removeForeign(
    _ foreign: [ForeignChange], _ implied: [ImpliedChange], _ seen: PlanSeen,
    _ told: inout [Invalidation]
  ) {
    var directories = implied.filter { !$0.isThere }
    for change in foreign.reversed() where change.new == nil {
      while let directory = directories.last,
        change.path.lexicographicallyPrecedes(directory.path)
      {
        installImplied(directories.removeLast(), &told)
      }
      installForeign(change, seen, &told)
    }
    for directory in directories.reversed() { installImplied(directory, &told) }
  }

  // MARK: - What the cut took

  /// What those who go on with what a cut took have seen.
  ///
  /// As a rule nobody asks: then it is no more than a list.
  final class PlanSeen {
    /// The epoch of those who saw the tree as it was.
    private let before: UInt64
    /// The detached nodes there were, by the places of the names they had.
    private let places: [Detached.Place: [UInt64]]
    fileprivate var noted: [(path: [UInt8], inode: UInt64, epoch: UInt64)] = []
    private(set) lazy var nodes = Dictionary(noted.map { ($0.inode, $0.epoch) }) { $1 }
    private(set) lazy var paths = Dictionary(noted.map { ($0.path, $0.epoch) }) { $1 }

    init(before: UInt64, _ places: [Detached.Place: [UInt64]]) {
      self.before = before
      self.places = places
    }

    /// What the handles of a node have seen.
    func epoch(of node: LiveNode) -> UInt64 { nodes[node.inode] ?? before }

    func detached(at name: [UInt8], of parent: LiveNode) -> [UInt64] {
      places.isEmpty ? [] : places[Detached.Place(parent: parent.inode, name: name)] ?? []
    }
  }

  /// Says what those who go on with what the cut took have seen, now that it is known on what each
  /// change was put.
  private func noteSeen(_ plan: CutPlan, _ installation: Installation, _ result: PlanSeen) {
    result.noted.reserveCapacity(plan.items.count)
    for item in plan.items {
      guard case .put(let state, _) = item.action else { continue }
      let planned = plan.epochAfter(item)
      var seen = planned
      if planned != plan.nextEpoch, !installation.stale.contains(state.node.inode) {
        // The head had the same there, so the change was made on it.
        seen = plan.nextEpoch
        let file = state.node.file
        for save in [file?.saved, file?.counted, state.taken?.state] {
          if save?.epoch == planned { save?.epoch = seen }
          if save?.takenIn == planned { save?.takenIn = seen }
        }
        if file?.writerEpoch == planned { file?.writerEpoch = seen }
      }
      if seen == plan.nextEpoch { state.node.lowest = nil }
      result.noted.append((item.path, state.node.inode, seen))
      guard let taken = state.taken?.state else { continue }
      for reader in taken.readers { readers.move(reader, to: seen) }
      detachedNodes[state.node.inode]?.epoch = seen
    }
    for (place, item) in plan.readers {
      guard case .put(let state, _) = item.action else {
        readers.move(place, to: plan.epochAfter(item), isAbsent: true)
        continue
      }
      let isStale = installation.stale.contains(state.node.inode)
      readers.move(place, to: isStale ? plan.epochAfter(item) : plan.nextEpoch)
    }
    for (place, epoch, item) in plan.setters where installation.informed.contains(place) {
      // Bytes that the same cut took are of somebody else, or the memory has moved.
      guard case .put(let state, _) = item.action, state.taken == nil,
        !installation.stale.contains(state.node.inode), readers[place]?.epoch == epoch
      else { continue }
      readers.move(place, to: plan.nextEpoch)
    }
  }

  private func settlePlan(_ plan: CutPlan, _ installation: Installation, _ seen: PlanSeen) {
    if plan.rootAttributes == root.attributes { root.attributesChanged = false }
    // The paths at which the base has what the plan put there; as a rule nobody asks.
    lazy var present = Set(
      plan.items.lazy.filter { item in
        guard case .put(let state, _) = item.action else { return false }
        return installation.entries[state.node.inode] != nil
      }.map(\.path))
    // Of those that changed since, the ones at whose only name the base has them; other names went.
    var placed: Set<UInt64> = []
    for item in plan.items {
      guard case .put(let state, _) = item.action else { continue }
      if installation.ended.contains(state.node.inode) { endAttributes(state) }
      if state.isThinned, installation.entries[state.node.inode] != nil {
        impliedInodes[ImpliedName(item.path)] = nil
      }
      settle(
        state, at: item.path, entry: installation.entries[state.node.inode],
        isStale: installation.stale.contains(state.node.inode), &placed)
      if installation.renumbered.contains(state.node.inode) { state.node.renewsInode = true }
      if installation.learnsNumbers { state.node.renewsInode = false }
    }
    if installation.learnsNumbers {
      for one in plan.renewals {
        // Two nodes are shown where the base has one value: as one of them goes there, the other leaves.
        let isUnlearned = installation.unlearned.contains(one.node.inode)
        one.node.renewsInode = isUnlearned
        // Its other names are found by the number that the base has of it.
        if !isUnlearned, one.node.entry?.inode ?? 0 != 0 {
          one.node.entry?.inode = one.node.inode
        }
      }
    }
    for path in plan.numbered { impliedInodes[ImpliedName(path)] = nil }
    moveClean(plan, installation)
    for (node, path) in plan.directories.reversed() {
      guard let directory = node.directory else { continue }
      let isHere = node.parent != nil || node.inode == Self.rootInode
      if isHere { directory.basePath = path }
      if node.stamp <= plan.stamp { node.isMoved = false }
      var gone: [[UInt8]] = []
      for (name, override) in directory.overrides {
        func childPath() -> [UInt8] { path.isEmpty ? name : path + [0x2F] + name }
        if override.stamp > plan.stamp {
          // Changed again since: what the base has there is what the cut took, or took away.
          if present.contains(childPath()) {
            directory.overrides[name]?.hidesBase = true
          } else if plan.absent.contains(childPath()) {
            directory.overrides[name]?.hidesBase = false
          }
          continue
        }
        guard let child = override.node else {
          gone.append(name)
          continue
        }
        if isSettled(child), child.furtherNames.isEmpty || child.stamp <= plan.stamp,
          plan.scratch.isEmpty || !plan.scratch.contains(child.inode)
        {
          gone.append(name)
          if child.kind == .directory, child.entry?.inode ?? 0 == 0 {
            // From here on it is found by its path alone.
            impliedInodes[ImpliedName(childPath())] = child.inode
          }
          child.isTouched = false
          child.isJournaled = false
          child.compact()
          dropIfUnused(child)
        } else if present.contains(childPath()) {
          directory.overrides[name]?.hidesBase = true
          if let epoch = seen.paths[childPath()] { directory.overrides[name]?.epoch = epoch }
        }
      }
      if gone.count == directory.overrides.count {
        directory.overrides = [:]
      } else {
        for name in gone { directory.overrides[name] = nil }
      }
    }
    for node in plan.detached where node.file?.saved?.takenIn != nil {
      if node.handles == 0, node.lookups == 0 { forgetDetached(node.inode) }
      node.file?.saved = nil
      node.file?.counted = nil
      dropIfUnused(node)
    }
  }

  /// Directories that the plan did not meet moved with those above them; copied entries are new ones.
  private func moveClean(_ plan: CutPlan, _ installation: Installation) {
    guard !plan.moves.isEmpty else { return }
    // What comes to be implied where they were has other numbers.
    let implied = impliedInodes.compactMap { (name, inode) in
      ImpliedName.moved(name.bytes, by: plan.moves).map { (name, path: $0, inode) }
    }
    for (name, _, _) in implied { impliedInodes[name] = nil }
    for (_, path, inode) in implied { impliedInodes[ImpliedName(path)] = inode }
    let met = Set(plan.directories.map { ObjectIdentifier($0.0) })
    var put: Set<UInt64> = []
    for item in plan.items {
      if case .put(let state, _) = item.action { put.insert(state.node.inode) }
    }
    for node in nodes.values {
      if !put.contains(node.inode), detachedNodes[node.inode] == nil,
        let entry = installation.entries[node.inode]
      {
        // A copy has the attributes of what it is of.
        node.entry = node.baseExtended == nil ? entry : entry.shortened
      }
      guard let old = node.directory?.basePath, !met.contains(ObjectIdentifier(node)) else {
        continue
      }
      var above = old[...]
      while !above.isEmpty {
        if let new = plan.moves[Array(above)] {
          let path = new + old[above.endIndex...]
          node.directory?.basePath = path
          // One that no entry stands for keeps its number where it is now.
          if node.entry?.inode ?? 0 == 0 { impliedInodes[ImpliedName(path)] = node.inode }
          break
        }
        above = above[..<(above.lastIndex(of: 0x2F) ?? above.startIndex)]
      }
    }
  }

  /// Attributes set in a directory that goes since nothing is left in it are in no version, and do not hold it.
  private func endAttributes(_ state: CutPlan.NodeState) {
    guard state.node.stamp == state.stamp else { return }
    state.node.attributesChanged = false
    state.node.explicitTime = false
    state.node.storedExtended = nil
  }

  /// Gives a node what the new base holds for it.
  private func settle(
    _ state: CutPlan.NodeState, at path: [UInt8], entry: Entry?, isStale: Bool,
    _ placed: inout Set<UInt64>
  ) {
    let node = state.node
    guard let entry, detachedNodes[node.inode] == nil else { return }
    // Whole, until it is found where the base has them: see shedExtended.
    node.baseExtended = nil
    node.entry = entry
    if let content = state.taken?.content {
      node.zeroBytes = content.size - min(content.size, content.stored(zerosInBase: node.zeroBytes))
    }
    let isUnchanged = node.stamp == state.stamp
    // Of several names the base may lack any: each is put again.
    if !isUnchanged, node.furtherNames.isEmpty, node.path == path { placed.insert(node.inode) }
    node.isMoved = !isUnchanged && !placed.contains(node.inode)
    // Also of one that changed meanwhile: the next cut gives it what this one recorded.
    let shownTime = shownTime(state, isStale: isStale)
    if isUnchanged {
      node.attributesChanged = false
      node.explicitTime = false
      node.storedExtended = nil
      if node.kind == .directory || node.file?.unsaved == true, node.attributes.mtime != nil {
        // A directory's shown mtime is the live one until it is dropped from memory; that of unsaved
        // bytes is theirs.
        var shown = entry.attributes
        shown.mtime = node.attributes.mtime
        node.attributes = shown
      } else {
        node.attributes = entry.attributes
        if let shownTime { node.attributes.mtime = shownTime }
      }
    }
    guard let file = node.file else { return }
    if let taken = state.taken?.state, file.saved === taken { file.saved = nil }
    // A save that came to count since the plan is of later bytes: without it the next cut would take older
    // ones of this file beside newer ones of another, as of a database beside its log.
    if file.counted === state.taken?.state || file.counted === state.fallback?.state {
      file.counted = nil
    }
    file.neverSaved = false
    if file.saved == nil, !file.unsaved { node.file = nil }
  }

  /// The mtime that a node goes on showing after a cut, where that is not the recorded one.
  private func shownTime(_ state: CutPlan.NodeState, isStale: Bool) -> Attributes.Time? {
    let inode = state.node.inode
    if state.isRewritten, !isStale, state.kind != .directory {
      noteShown(inode, state.node.attributes.mtime)
    } else if !shownTimes.isEmpty, state.taken != nil || state.explicitTime {
      shownTimes[inode] = nil
    }
    return shownTimes.isEmpty ? nil : shownTimes[inode]
  }

  /// Whether a node is exactly what the base holds at its name.
  private func isSettled(_ node: LiveNode) -> Bool {
    guard !node.isMoved, !node.attributesChanged, !node.renewsInode, node.file?.saved == nil,
      node.file?.unsaved != true
    else { return false }
    guard let directory = node.directory else { return node.isInBase }
    return directory.basePath != nil && directory.basePath == node.path
      && directory.overrides.isEmpty
  }
}
