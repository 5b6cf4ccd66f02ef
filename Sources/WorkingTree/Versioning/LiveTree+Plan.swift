import Grammar
import LLVSCore
import Platform
import TreeNames

// Taking the plan of a cut: docs/writes.md, rules 1 to 5.

extension LiveTree {
  /// Why a cut is made.
  package enum CutReason: Sendable {
    /// A command, unmount or SIGTERM asks: every save counts.
    case command
    /// Nothing was saved or renamed for `settle`.
    case quiet
    /// The first pending change is 60 s old: logs and databases are taken as they stand.
    case overdue
  }

  /// How long the writes of a file that was made or emptied must have paused to be taken, unsaved.
  static let abandonedNanoseconds: UInt64 = 60_000_000_000

  /// Marks the instant of a cut and takes the plan.
  ///
  /// - Complexity: O(pending), in memory.
  func plan(_ reason: CutReason, id: UInt64) -> CutPlan {
    lock.withLock { _ in
      let tick = SystemClock.monotonic()
      savePaused(tick, reason)
      beginPlan(tick)
      var plan = CutPlan(
        id: id, stamp: stamp, nextEpoch: epoch + 1, base: base, head: head,
        predecessors: epochs)
      journal.append(.cutMark(id: id))
      gather(reason, &plan)
      for change in beginEpochs(&plan) { perform(change) }
      noteSeen(plan)
      return plan
    }
  }

  /// Takes the plan of a cut whose mark replay has met, and which the store committed.
  func planForReplay(id: UInt64, _ record: CutRecord) -> CutPlan {
    beginPlan(SystemClock.monotonic())
    lineEpoch = record.lineEpoch
    for inode in record.unreadable { nodes[inode]?.file?.saved?.isUnreadable = true }
    var plan = CutPlan(
      id: id, stamp: stamp, nextEpoch: epoch + 1, base: base, head: head, predecessors: epochs)
    gather(.command, &plan)
    for item in plan.items {
      guard case .put(let state, _) = item.action else { continue }
      if let choice = record.choices[state.node.inode] { state.choose(choice) }
    }
    for change in beginEpochs(&plan) { apply(change) }
    noteSeen(plan)
    return plan
  }

  private func beginPlan(_ tick: UInt64) {
    hasTakeable = false
    isPlanning = true
    firstPending = unsavedNodes.values.contains(where: belongsToName) ? tick : nil
    stamp += 1
  }

  /// The epochs that begin at a cut: one for each version that it makes besides the live tree's own, and that
  /// of the head; at replay the same ones.
  private func beginEpochs(_ plan: inout CutPlan) -> [Change] {
    var changes: [Change] = []
    var next = epoch
    for side in Set(plan.items.map { plan.side(of: $0) }).sorted() where side != plan.ownSide {
      next += 1
      plan.sideEpochs[side] = next
      changes.append(.epoch(id: next, predecessor: side.predecessor?.rawValue ?? 0))
    }
    plan.nextEpoch = next + 1
    changes.append(.epoch(id: next + 1, predecessor: plan.head?.rawValue ?? 0))
    return changes
  }

  private func gather(_ reason: CutReason, _ plan: inout CutPlan) {
    if root.attributesChanged { plan.rootAttributes = root.attributes }
    walk(root, at: [], isInPlace: true, reason, &plan)
    setters = [:]
    takeDetached(reason, &plan)
    choose(&plan)
  }

  /// Decides which saves count: after the plan, and again when what follows a cut had its quiet.
  func choose(_ plan: inout CutPlan) {
    for item in plan.items {
      if case .put(let state, _) = item.action { state.choose(settle: settings.settle) }
    }
  }

  /// Saves files whose writes have paused, and at an overdue cut logs and databases as they stand.
  private func savePaused(_ tick: UInt64, _ reason: CutReason) {
    let settle = settings.settle
    for node in Array(unsavedNodes.values) {
      guard let file = node.file, belongsToName(node), tick >= file.lastWriteTick else { continue }
      let pause = tick - file.lastWriteTick
      let isDue =
        file.steady
        ? pause >= settle || reason == .overdue : pause >= Self.abandonedNanoseconds
      guard isDue else { continue }
      _ = save(node, by: nil)
      // It had its quiet before, or needs none: a write that follows the cut does not break it.
      file.counted = file.saved
    }
  }

  private func noteSeen(_ plan: CutPlan) {
    for item in plan.items {
      if case .put(let state, _) = item.action { noteSeen(state, plan.epochAfter(item)) }
    }
  }

  /// Whoever goes on writing a file that the cut takes has seen what it takes.
  private func noteSeen(_ state: CutPlan.NodeState, _ epoch: UInt64) {
    guard let file = state.node.file, let taken = state.taken?.state else { return }
    taken.takenIn = epoch
    if let newest = file.saved, newest !== taken { newest.epoch = epoch }
    if file.unsaved { file.writerEpoch = epoch }
  }

  /// Takes back what planning a cut that failed has noted: everything stays pending, on what its
  /// writers had seen before.
  func abandon(_ plan: CutPlan) {
    lock.withLock { _ in
      isPlanning = false
      hasTakeable = true
      firstPending = firstPending ?? SystemClock.monotonic()
      for case (let place, _, item: let item) in plan.setters {
        guard case .put(let state, _) = item.action else { continue }
        setters[state.node.inode, default: []].insert(place)
      }
      for item in plan.items {
        guard case .put(let state, _) = item.action else { continue }
        let after = plan.epochAfter(item)
        for save in [state.newest, state.fallback] where save?.state.takenIn == after {
          save?.state.takenIn = nil
        }
        guard let file = state.node.file else { continue }
        if let saved = file.saved { saved.epoch = min(saved.epoch, state.priorEpoch) }
        if file.unsaved { file.writerEpoch = min(file.writerEpoch, state.priorEpoch) }
      }
    }
  }

  // MARK: - The walk

  private func walk(
    _ node: LiveNode, at path: [UInt8], isInPlace: Bool, _ reason: CutReason,
    _ plan: inout CutPlan
  ) {
    guard let directory = node.directory else { return }
    plan.directories.append((node, path))
    if node.inode == Self.rootInode || !node.explicitTime, let time = node.attributes.mtime {
      plan.directoryTimes[node.inode] = time
    }
    guard directory.overrides.values.contains(where: { $0.node?.baseExtended != nil }) else {
      for (name, override) in directory.overrides {
        walk(name, override, of: node, at: path, isInPlace: isInPlace, reason, &plan)
      }
      return
    }
    // Nodes of the map with long attributes are megabytes: each is read once.
    for (name, override) in directory.overrides.sorted(by: {
      $0.key.lexicographicallyPrecedes($1.key)
    }) {
      walk(name, override, of: node, at: path, isInPlace: isInPlace, reason, &plan)
    }
  }

  private func walk(
    _ name: [UInt8], _ override: Override, of directory: LiveNode, at path: [UInt8],
    isInPlace: Bool, _ reason: CutReason, _ plan: inout CutPlan
  ) {
    let childPath = path.isEmpty ? name : path + [0x2F] + name
    let count = plan.items.count
    defer {
      if override.process != 0, plan.items.count > count, plan.items[count].path == childPath {
        let place = ReaderMemory.Place(
          process: override.process, parent: directory.inode, name: name)
        if readers[place] != nil { plan.readers.append((place, plan.items[count])) }
      }
      if !setters.isEmpty, plan.items.count > count, plan.items[count].path == childPath {
        takeSetters(plan.items[count], at: name, of: directory, &plan)
      }
    }
    guard let child = override.node else {
      plan.absent.insert(childPath)
      if isInPlace {
        plan.add(
          CutPlan.Item(path: childPath, epoch: override.epoch, action: .removeTree))
      }
      return
    }
    if isIgnored(child, override, at: childPath) {
      noteScratch(child, &plan)
      walkScratch(child, at: childPath, reason, &plan)
    } else if child.kind == .directory {
      walkDirectory(child, at: childPath, override, isInPlace: isInPlace, reason, &plan)
    } else {
      take(
        child, name, of: directory, at: childPath, override, isInPlace: isInPlace, reason, &plan)
    }
  }

  /// Notes who set attributes of a file of which nothing else changed.
  private func takeSetters(
    _ item: CutPlan.Item, at name: [UInt8], of directory: LiveNode, _ plan: inout CutPlan
  ) {
    guard case .put(let state, isInPlace: true) = item.action else { return }
    for place in setters[state.node.inode] ?? [] {
      let named = ReaderMemory.Place(
        process: place.process, parent: directory.inode, name: name)
      guard place == named || place.parent == state.node.inode, let seen = readers[place] else {
        continue
      }
      plan.setters.append((place, seen.epoch, item))
    }
  }

  /// Whether a pattern keeps what stands at a name out of versions: no name of the base, and no directory
  /// whose children the base holds.
  func isIgnored(_ node: LiveNode, _ override: Override, at path: [UInt8]) -> Bool {
    !override.hidesBase && node.directory?.basePath == nil
      && isMatched(path, isDirectory: node.kind == .directory)
  }

  private func noteScratch(_ node: LiveNode, _ plan: inout CutPlan) {
    guard node.kind != .directory, node.isInBase || !node.furtherNames.isEmpty else { return }
    plan.scratch.insert(node.inode)
  }

  /// Takes directories of the base that were moved below a scratch one: they stay versioned.
  private func walkScratch(
    _ node: LiveNode, at path: [UInt8], _ reason: CutReason, _ plan: inout CutPlan
  ) {
    for (name, override) in node.directory?.overrides ?? [:] {
      guard let child = override.node else { continue }
      guard let below = child.directory else {
        noteScratch(child, &plan)
        continue
      }
      let childPath = path + [0x2F] + name
      if below.basePath != nil {
        walkDirectory(child, at: childPath, override, isInPlace: false, reason, &plan)
      } else {
        walkScratch(child, at: childPath, reason, &plan)
      }
    }
  }

  private func walkDirectory(
    _ node: LiveNode, at path: [UInt8], _ override: Override, isInPlace: Bool,
    _ reason: CutReason, _ plan: inout CutPlan
  ) {
    let staysInPlace = isInPlace && node.directory?.basePath == path
    if !staysInPlace || node.attributesChanged {
      if node.entry?.inode ?? 0 == 0, let basePath = node.directory?.basePath {
        plan.numbered.append(basePath)
      }
      plan.add(
        CutPlan.Item(
          path: path, epoch: override.epoch,
          action: .put(state(of: node, reason), isInPlace: staysInPlace)))
    } else if let epoch = thinned(node) {
      plan.add(
        CutPlan.Item(
          path: path, epoch: epoch,
          action: .put(state(of: node, reason, isThinned: true), isInPlace: true)))
    }
    if !staysInPlace, let basePath = node.directory?.basePath {
      // A name whose file was never saved keeps what the base has there.
      let except = (node.directory?.overrides ?? [:]).filter { _, override in
        override.node.map {
          ($0.file?.neverSaved != true || $0.file?.saved != nil) && !goesAlong($0)
        } ?? true
      }
      plan.add(
        CutPlan.Item(
          path: path, epoch: override.epoch,
          action: .copyTree(from: basePath, except: Set(except.keys))))
      plan.noteMove(from: basePath, to: path)
    }
    if staysInPlace, !node.isInBase {
      plan.kept.append((path, node.inode, node.parent?.inode ?? Self.rootInode))
      let holds = node.directory?.overrides.values.contains { $0.node != nil } ?? false
      if !holds { plan.hasEmptied = true }
    }
    if node.renewsInode {
      plan.renewals.append(CutPlan.Renewal(path: path, isDirectory: true, node: node))
      plan.numbered.append(path)
    }
    let above = plan.lowestAbove
    if !staysInPlace, node.directory?.basePath != nil {
      plan.lowestAbove = min(above, override.epoch)
    }
    walk(node, at: path, isInPlace: staysInPlace, reason, &plan)
    plan.lowestAbove = above
  }

  /// What was seen by who took names from a directory that only names below say is there; nil where nobody did.
  ///
  /// A directory goes by rmdir alone: where nothing is left below it, it gets an entry.
  private func thinned(_ node: LiveNode) -> UInt64? {
    guard node.entry == nil, let directory = node.directory else { return nil }
    return directory.overrides.values.lazy.compactMap { $0.node == nil ? $0.epoch : nil }.max()
  }

  /// Whether a file of the base goes with its directory as all of the base does: nobody changed anything of it,
  /// whatever number it has.
  private func goesAlong(_ node: LiveNode) -> Bool { node.isInBase && !isSaving(node) }

  /// Whether a file of the base has its name since a directory keeps its own from it: where its directory is
  /// moved it is shown under another from then on.
  private func isDisplaced(_ node: LiveNode, at name: [UInt8], of directory: LiveNode) -> Bool {
    guard name.starts(with: DisplacedName.prefix), let key = node.entry?.key else { return false }
    if TreeView.ownPath(key).split(separator: 0x2F).last.map({ name.elementsEqual($0) }) ?? false {
      return false
    }
    // A program may have named it so; and the key is that of any of its names.
    return DisplacedName.key(of: name).map {
      TreeView.home(of: TreeView.ownPath($0)) == directory.directory?.basePath
    } ?? true
  }

  /// Whether there is anything of a file but its number that the base does not have.
  private func isSaving(_ node: LiveNode) -> Bool {
    node.kind == .directory || node.attributesChanged || node.isMoved || node.file?.saved != nil
      || node.file?.unsaved == true
  }

  private func take(
    _ node: LiveNode, _ name: [UInt8], of directory: LiveNode, at path: [UInt8],
    _ override: Override, isInPlace: Bool, _ reason: CutReason, _ plan: inout CutPlan
  ) {
    if node.file?.unsaved == true { plan.unsaved.append(path) }
    let goesAlong = !isInPlace && goesAlong(node)
    if node.renewsInode, !goesAlong || !isDisplaced(node, at: name, of: directory) {
      plan.renewals.append(CutPlan.Renewal(path: path, isDirectory: false, node: node))
    }
    if goesAlong { return }
    var saved = node.file?.saved
    if saved?.isUnreadable == true {
      plan.unreadable.append(path)
      plan.unreadableNodes.insert(node.inode)
      saved = node.file?.counted.flatMap { $0.isUnreadable ? nil : $0 }
    }
    if saved == nil, !node.isInBase { return }
    let isUnmoved = isInPlace && !node.isMoved
    if saved == nil, isUnmoved, !node.attributesChanged { return }
    plan.add(
      CutPlan.Item(
        path: path,
        epoch: saved.map { min($0.epoch, override.epoch) } ?? override.epoch,
        action: .put(state(of: node, reason), isInPlace: isUnmoved && node.isInBase)))
  }

  private func state(
    of node: LiveNode, _ reason: CutReason, isThinned: Bool = false
  ) -> CutPlan.NodeState {
    let file = node.file
    let isCommand = reason == .command
    // A save that a write followed counts only for a command, or if it had its quiet before; of a log or
    // a database, also when the cut is overdue.
    let counted = file?.counted.flatMap { $0.isUnreadable ? nil : $0 }
    let saved = file?.saved.flatMap { $0.isUnreadable ? nil : $0 }
    let newest = file?.unsaved == true && !isCommand ? counted : saved
    let stands = isCommand || reason == .overdue && newest?.isSteady == true
    var prior = file?.saved?.epoch ?? UInt64.max
    if let file, file.unsaved { prior = min(prior, file.writerEpoch) }
    return CutPlan.NodeState(
      node: node, entry: node.entry, newest: newest.map { CutPlan.Save($0) },
      fallback: counted.map { CutPlan.Save($0) }, standsAsSaved: stands,
      latest: file?.saved, priorEpoch: prior, isThinned: isThinned)
  }

  /// Takes detached files that were saved, as changes of the names they had.
  private func takeDetached(_ reason: CutReason, _ plan: inout CutPlan) {
    var items: [CutPlan.Item] = []
    // In an order that replay has too.
    for inode in detachedNodes.keys.sorted() {
      guard let detached = detachedNodes[inode] else { continue }
      if isGivenAway(detached) {
        // Once a version says so, nothing here does.
        forgetDetached(inode)
        dropIfUnused(detached.node)
        continue
      }
      guard let file = detached.node.file, let path = path(of: detached) else { continue }
      if file.unsaved { plan.unsavedDetached.append(path) }
      guard let saved = file.saved, saved.takenIn == nil else { continue }
      guard !saved.isUnreadable else {
        plan.unreadableNodes.insert(inode)
        continue
      }
      items.append(
        CutPlan.Item(
          path: path, epoch: min(saved.epoch, detached.epoch),
          action: .put(state(of: detached.node, reason), isInPlace: true),
          isLeft: detached.parent == Detached.nowhere))
      plan.detached.append(detached.node)
    }
    plan.add(detached: items)
  }

  /// Whether the name of a detached file was removed or renamed here since, or its directory removed: it is no longer what merges made
  /// of it.
  func isGivenAway(_ detached: Detached) -> Bool {
    guard detached.parent != Detached.nowhere, let parent = nodes[detached.parent] else {
      return false
    }
    guard parent.isLinked else { return true }
    guard let override = parent.directory?.overrides[detached.name] else { return false }
    guard let inode = override.node?.inode else { return true }
    return detached.successor != Detached.anybody && detached.successor != inode
  }

  /// Where the bytes of a detached file belong; nil where its directory was removed here.
  func path(of detached: Detached) -> [UInt8]? {
    if detached.parent == Detached.nowhere { return detached.name }
    guard let parent = nodes[detached.parent], parent.isLinked, let above = parent.path else {
      return nil
    }
    return above.isEmpty ? detached.name : above + [0x2F] + detached.name
  }
}
