import Grammar
import Inodes
import LLVSCore
import Platform

// Applying changes to memory: the one code that live operations and replay share.
// All of it runs with `lock` held, or alone at replay.

extension LiveTree {
  /// Applies a change and records it; call with the lock held, after every check.
  ///
  /// Nodes that the change names must have been given to ``ensureJournaled(_:)``.
  @discardableResult
  func perform(_ change: Change) -> Journal.Position {
    apply(change)
    return journal.append(change)
  }

  /// The same of changes that one call brings; says where the record of each ends.
  func perform(_ changes: [Change]) -> [Journal.Position] {
    for change in changes { apply(change) }
    return journal.append(changes)
  }

  /// Makes sure that the journal knows a node of the base before a change names it.
  func ensureJournaled(_ node: LiveNode) {
    guard !node.isJournaled else { return }
    node.isJournaled = true
    if let detached = detachedNodes[node.inode] {
      if let directory = nodes[detached.parent] { ensureJournaled(directory) }
      return changes(of: detached).forEach { journal.append($0) }
    }
    for one in node.names { ensureJournaled(one.parent) }
    touch(node)
    // Replay finds a node by its name in the base, which has to have its number there.
    guard node.hasBaseNumber else { return imageChanges(of: node).forEach { journal.append($0) } }
    for one in node.names {
      journal.append(.bind(inode: node.inode, parent: one.parent.inode, name: one.name))
    }
  }

  /// Applies a change to memory. `bind` and the checkpoint's records belong to replay alone.
  func apply(_ change: Change) {
    stamp += 1
    let tick = tick(of: change)
    switch change {
    case .create(
      let inode, let parent, let name, let kind, let attributes, let target, let time, let saved):
      applyCreate(
        inode: inode, parent: parent, name: name, kind: kind, attributes: attributes,
        target: target, time: time, saved: saved, tick: tick)
    case .write(let inode, let extent, _, let time, let epoch, let flags):
      guard let node = nodes[inode] else { return }
      let file = openForChange(node, epoch: epoch, flags: flags, time: time, tick: tick)
      file.content.write(extent)
      allocations.take(extent.start..<extent.end, from: inode)
    case .resize(let inode, let size, let time, let epoch, let flags):
      guard let node = nodes[inode] else { return }
      let file = openForChange(node, epoch: epoch, flags: flags, time: time, tick: tick)
      if size < file.content.size {
        allocations.take(Allocations.blocks(of: 0..<size).upperBound..<UInt64.max, from: inode)
      }
      file.content.resize(to: size)
      if flags.contains(.savedAtOnce) { applySave(node, time: time, epoch: epoch, tick: tick) }
    case .punch(let inode, let range, let time, let epoch):
      guard let node = nodes[inode] else { return }
      let file = openForChange(node, epoch: epoch, flags: .steady, time: time, tick: tick)
      file.content.punchHole(range)
      allocations.take(range, from: inode)
    case .save(let inode, let time, let epoch):
      guard let node = nodes[inode] else { return }
      applySave(node, time: time, epoch: epoch, tick: tick)
    case .setAttributes(let inode, let attributes, let keepsExtended, let time, let explicitTime):
      guard let node = nodes[inode] else { return }
      var whole = attributes
      if keepsExtended {
        whole.extended = node.attributes.extended
      } else {
        node.storedExtended = nil
      }
      applyAttributes(node, whole, time: time, explicitTime: explicitTime, tick: tick)
    case .rename(let fromParent, let from, let toParent, let to, let exchange, let time, let epoch):
      guard let fromNode = nodes[fromParent], let toNode = nodes[toParent],
        makesNoCircle(fromNode, from, toNode, to, exchange: exchange)
      else { return }
      applyRename(
        fromNode, from, toNode, to, exchange: exchange ? epoch : nil, time: time, epoch: epoch,
        tick: tick)
    case .exchange(
      let fromParent, let from, let toParent, let to, let time, let fromEpoch, let toEpoch):
      guard let fromNode = nodes[fromParent], let toNode = nodes[toParent],
        makesNoCircle(fromNode, from, toNode, to, exchange: true)
      else { return }
      applyRename(
        fromNode, from, toNode, to, exchange: fromEpoch, time: time, epoch: toEpoch, tick: tick)
    case .remove(let parent, let name, let time, let epoch):
      guard let directory = nodes[parent] else { return }
      let node = inMemoryChild(of: directory, name)
      forgetLeft(at: name, of: directory)
      putOverride(directory, name, nil, time: time, epoch: epoch, tick: tick)
      if let node { unlink(node, from: name, of: directory, time: time) }
    case .link(let inode, let parent, let name, let id, let time, let epoch):
      guard let node = nodes[inode], let directory = nodes[parent], node.kind != .directory else {
        return
      }
      applyLink(node, directory, name, id: id, time: time, epoch: epoch, tick: tick)
    case .epoch(let id, let predecessor):
      epoch = max(epoch, id)
      // A replayed cut that was committed has said already what its epoch stands on.
      epochs.begin(id, predecessor == 0 ? nil : VersionNumber(predecessor))
    case .detached(let inode, let parent, let name, let successor, let epoch):
      guard let node = nodes[inode], node.parent == nil else { return }
      note(
        Detached(node: node, parent: parent, name: name, successor: successor, epoch: epoch))
      if parent == Detached.nowhere { left.insert(inode) }
      if node.file?.saved != nil { active(tick) }
      if node.file?.unsaved == true { notePending(tick) }
    case .bind, .cutMark, .synced, .node, .override, .sums:
      return
    }
  }

  /// Whether a rename that is replayed leaves the directories a tree; who renames has looked already, but
  /// a damaged record may say anything.
  private func makesNoCircle(
    _ fromNode: LiveNode, _ from: [UInt8], _ toNode: LiveNode, _ to: [UInt8], exchange: Bool
  ) -> Bool {
    guard replayShift != nil else { return true }
    if let node = inMemoryChild(of: fromNode, from), node.kind == .directory, toNode.isInside(node)
    {
      return false
    }
    guard exchange, let over = inMemoryChild(of: toNode, to), over.kind == .directory else {
      return true
    }
    return !fromNode.isInside(over)
  }

  /// When a change happened, on the monotonic clock: at replay what its time of day comes to.
  private func tick(of change: Change) -> UInt64 { tick(at: change.time) }

  /// The same for a time of day; now, where none is replayed.
  func tick(at time: Attributes.Time?) -> UInt64 {
    guard let replayShift, let time else { return SystemClock.monotonic() }
    let (sum, overflows) = time.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflows else { return SystemClock.monotonic() }
    let shifted = sum &+ Int64(time.nanoseconds) &+ replayShift
    return UInt64(min(max(shifted, 1), Int64(clamping: SystemClock.monotonic())))
  }

  // MARK: - Names

  private func applyCreate(
    inode: UInt64, parent: UInt64, name: [UInt8], kind: EntryKind, attributes: Attributes,
    target: [UInt8], time: Attributes.Time, saved: Bool, tick: UInt64
  ) {
    guard let directory = nodes[parent] else { return }
    let node = LiveNode(
      inode: inode, kind: kind, parent: directory, name: name, entry: nil, attributes: attributes,
      ctime: time, directory: kind == .directory ? LiveDirectory(basePath: nil) : nil)
    node.isJournaled = true
    remember(node)
    node.directory?.subdirectories.baseStamp = baseStamp
    // Shown, and kept by this store; versions record only what utimensat(2) sets.
    if kind == .directory { node.attributes.mtime = attributes.mtime ?? time }
    if kind != .directory {
      let file = LiveFile(content: FileContent())
      if kind == .symlink, let stored = StoredContent.held(target) {
        file.content = FileContent(stored: stored)
      }
      file.neverSaved = true
      node.file = file
      if saved {
        applySave(node, time: time, epoch: epoch, tick: tick)
      } else {
        file.unsaved = true
        file.steady = false
        file.writerEpoch = epoch
        file.lastWriteTick = tick
        unsavedNodes[inode] = node
      }
    }
    putOverride(directory, name, node, time: time, epoch: epoch, tick: tick)
  }

  /// The node at a name: one that a change names is bound, and so stands in the overrides.
  func inMemoryChild(of directory: LiveNode, _ name: [UInt8]) -> LiveNode? {
    directory.directory?.overrides[name]?.node
  }

  /// Puts a node, or its absence, at a name.
  ///
  /// Who makes a name that was removed has seen what the remover had: the removal is what was shown there.
  func putOverride(
    _ parent: LiveNode, _ name: [UInt8], _ node: LiveNode?, time: Attributes.Time, epoch: UInt64,
    tick: UInt64
  ) {
    guard let directory = parent.directory else { return }
    let before = directory.overrides[name]
    let hides = before?.hidesBase ?? false
    let epoch = before.map { $0.node == nil ? min($0.epoch, epoch) : epoch } ?? epoch
    recount(directory, from: before?.node, to: node)
    if node == nil, !hides, !isPlanning {
      directory.overrides[name] = nil
    } else {
      directory.overrides[name] = Override(
        node: node, epoch: epoch, stamp: stamp, hidesBase: hides)
    }
    node?.isTouched = true
    directory.stamp += 1
    parent.ctime = time
    if parent.explicitTime || parent.attributes.mtime != nil {
      parent.attributesChanged = parent.attributesChanged || parent.recordsTime
    }
    keepAccessTime(of: parent)
    parent.attributes.mtime = time
    parent.explicitTime = false
    parent.stamp = stamp
    touch(parent)
    active(tick)
  }

  /// Puts a node into its parent's overrides, and so on up: the way a cut finds it.
  func touch(_ start: LiveNode) {
    var node = start
    while !node.isTouched, let parent = node.parent {
      node.isTouched = true
      for one in node.furtherNames {
        if one.parent.directory?.overrides[one.name] == nil {
          one.parent.directory?.overrides[one.name] = Override(
            node: node, epoch: epoch, stamp: stamp, hidesBase: true)
        }
        touch(one.parent)
      }
      if parent.directory?.overrides[node.name] == nil {
        parent.directory?.overrides[node.name] = Override(
          node: node, epoch: epoch, stamp: stamp, hidesBase: true)
      }
      node = parent
    }
  }

  /// Notes that something is pending.
  func active(_ tick: UInt64) {
    lastActivity = tick
    hasTakeable = true
    notePending(tick)
  }

  func notePending(_ tick: UInt64) {
    guard firstPending == nil else { return }
    firstPending = tick
    wake?()
  }

  /// Takes a name from a node.
  func unlink(_ node: LiveNode, from name: [UInt8], of parent: LiveNode, time: Attributes.Time) {
    node.ctime = time
    guard node.furtherNames.isEmpty else {
      node.stamp = stamp
      node.removeName(name, of: parent)
      return dropIfUnused(parent)
    }
    node.isTouched = false
    unsavedNodes[node.inode] = nil
    // Nothing is found in a directory without a name, whatever the base has where it stood.
    node.directory?.overrides = [:]
    node.directory?.basePath = nil
    node.move(to: nil, as: node.name)
    dropIfUnused(node)
    dropIfUnused(parent)
  }

  /// `exchange` is the epoch that is seen of what comes to `from`, where both change places.
  private func applyRename(
    _ fromParent: LiveNode, _ from: [UInt8], _ toParent: LiveNode, _ to: [UInt8],
    exchange: UInt64?, time: Attributes.Time, epoch: UInt64, tick: UInt64
  ) {
    guard let node = inMemoryChild(of: fromParent, from) else { return }
    let other = inMemoryChild(of: toParent, to)
    if node === other { return }
    forgetLeft(at: from, of: fromParent)
    if let exchange, let other {
      node.removeName(from, of: fromParent)
      other.removeName(to, of: toParent)
      node.addName(to, of: toParent)
      other.addName(from, of: fromParent)
      other.ctime = time
      other.stamp = stamp
      other.isMoved = true
      putOverride(fromParent, from, other, time: time, epoch: exchange, tick: tick)
    } else {
      // The mover has seen that name as it is, whatever he had seen of the one that he moves it over.
      putOverride(fromParent, from, nil, time: time, epoch: self.epoch, tick: tick)
      node.removeName(from, of: fromParent)
      node.addName(to, of: toParent)
      if let other { unlink(other, from: to, of: toParent, time: time) }
    }
    putOverride(toParent, to, node, time: time, epoch: epoch, tick: tick)
    node.ctime = time
    node.stamp = stamp
    node.isMoved = true
  }

  // MARK: - Bytes

  /// The pending side of a file that is about to change.
  private func openForChange(
    _ node: LiveNode, epoch: UInt64, flags: Change.WriteFlags, time: Attributes.Time, tick: UInt64
  ) -> LiveFile {
    let file = pendingFile(of: node)
    if file.saved == nil, node.explicitTime, node.isInBase, !file.unsaved {
      // The time that utimensat(2) gave the saved bytes stays theirs.
      let saved = SavedState(
        content: file.content, mtime: node.attributes.mtime, explicitTime: true, time: time,
        tick: tick, epoch: epoch)
      file.saved = saved
      file.counted = saved
    }
    if let saved = file.saved, !file.unsaved {
      saved.brokenTick = saved.brokenTick ?? tick
      if saved.isSynced || tick >= saved.tick && tick - saved.tick >= settings.settle {
        file.counted = saved
      }
    }
    if file.unsaved {
      // That it was made is no write: who writes to it first says what it is.
      let isFirst = file.neverSaved && file.content.size == 0
      file.steady = (file.steady || isFirst) && flags.contains(.steady)
      file.writerEpoch = min(file.writerEpoch, epoch)
    } else {
      file.steady = flags.contains(.steady)
      file.writerEpoch = epoch
    }
    noteWriting(node, epoch: epoch)
    file.unsaved = true
    file.mapped = file.mapped || flags.contains(.mapped)
    file.explicitTime = false
    node.explicitTime = false
    file.lastWriteTick = tick
    keepAccessTime(of: node)
    node.attributes.mtime = time
    node.ctime = time
    node.stamp = stamp
    unsavedNodes[node.inode] = node
    guard belongsToName(node) else { return file }
    if node.parent != nil { touch(node) }
    notePending(tick)
    return file
  }

  /// The pending side of a file, made from its base where there is none yet.
  func pendingFile(of node: LiveNode) -> LiveFile {
    if let file = node.file { return file }
    let file = LiveFile(content: node.content)
    node.file = file
    return file
  }

  func applySave(_ node: LiveNode, time: Attributes.Time, epoch: UInt64, tick: UInt64) {
    guard let file = node.file else { return }
    file.saved = SavedState(
      content: file.content, mtime: node.attributes.mtime, explicitTime: file.explicitTime,
      time: time, tick: tick, epoch: epoch)
    file.saved?.isSteady = file.steady
    file.unsaved = false
    file.neverSaved = false
    file.mapped = false
    file.steady = true
    node.stamp = stamp
    unsavedNodes[node.inode] = nil
    active(tick)
  }

  private func applyAttributes(
    _ node: LiveNode, _ attributes: Attributes, time: Attributes.Time, explicitTime: Bool,
    tick: UInt64
  ) {
    node.attributes = attributes
    node.attributesChanged = true
    node.ctime = time
    node.stamp = stamp
    if explicitTime {
      node.explicitTime = true
      if let file = node.file {
        file.explicitTime = true
        if !file.unsaved, let saved = file.saved {
          saved.mtime = attributes.mtime
          saved.explicitTime = true
        }
      }
    }
    if node.parent != nil { touch(node) }
    active(tick)
  }
}

extension StoredContent {
  /// Bytes that a pending node holds itself, until a version stores them: a link's target.
  static func held(_ bytes: [UInt8]) -> StoredContent? {
    guard bytes.count <= 4096 else { return nil }
    return StoredContent(
      length: UInt64(bytes.count), digest: Digest.of(bytes), content: .inline(bytes))
  }
}
