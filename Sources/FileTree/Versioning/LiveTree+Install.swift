import LLVS
import Platform

// Putting a new head under the live tree: after a cut, a merge, a switch or a restore.

/// One difference between the tree that the live tree expects and the new head's.
struct ForeignChange {
  var path: [UInt8]
  var old: Entry?
  var new: Entry?
}

/// A head to be put under the live tree.
struct Installation {
  var base: TreeView
  var head: VersionNumber?
  /// The version that holds what the plan took, as far as one was made on the plan's head.
  var ownVersion: VersionNumber?
  /// The entries that the plan's nodes have in the new base.
  var entries: [UInt64: Entry]
  /// What differs from the plan's outcome: what merges and switches brought, parents first.
  var foreign: [ForeignChange]
}

extension LiveTree {
  /// Puts a head under the tree and drops what it covers; returns what the kernel must be told.
  ///
  /// Call without the lock, one at a time. Pending changes keep their predecessors.
  func install(_ installation: Installation, after plan: CutPlan?) -> [Invalidation] {
    lock.withLock { _ in
      var told: [Invalidation] = []
      if let plan { settlePlan(plan, installation) }
      base = installation.base
      baseStamp += 1
      head = installation.head
      stamp += 1
      for change in installation.foreign { installForeign(change, &told) }
      let own = installation.ownVersion ?? plan?.head
      if let plan { epochs[plan.nextEpoch] = .some(own) }
      if plan == nil || own != installation.head {
        epoch += 1
        epochs[epoch] = .some(installation.head)
      }
      // What the oldest handles have seen is then taken for the oldest epoch that is kept.
      if epochs.count > 20_000, let oldest = epochs.keys.max().map({ $0 - 10_000 }) {
        epochs = epochs.filter { $0.key >= oldest }
      }
      return told
    }
  }

  // MARK: - What the cut took

  private func settlePlan(_ plan: CutPlan, _ installation: Installation) {
    for item in plan.items {
      guard case .put(let state, _) = item.action else { continue }
      settle(state, at: item.path, entry: installation.entries[state.node.inode])
    }
    for (node, path) in plan.directories.reversed() {
      guard let directory = node.directory else { continue }
      if node.parent != nil || node.inode == Self.rootInode { directory.basePath = path }
      for (name, override) in directory.overrides {
        guard let child = override.node else {
          if override.stamp <= plan.stamp { directory.overrides[name] = nil }
          continue
        }
        if override.stamp <= plan.stamp, isSettled(child) {
          directory.overrides[name] = nil
          child.isTouched = false
          child.isJournaled = false
          dropIfUnused(child)
        }
      }
    }
    for node in plan.detached where node.file?.saved?.takenIn != nil {
      if node.handles == 0 { detachedNodes[node.inode] = nil }
      node.file?.saved = nil
      node.file?.counted = nil
      dropIfUnused(node)
    }
  }

  /// Gives a node what the new base holds for it.
  private func settle(_ state: CutPlan.NodeState, at path: [UInt8], entry: Entry?) {
    let node = state.node
    guard let entry, detachedNodes[node.inode] == nil else { return }
    node.entry = entry
    let isUnchanged = node.stamp == state.stamp
    node.isMoved = !isUnchanged && node.path != path
    if isUnchanged {
      node.attributesChanged = false
      node.explicitTime = false
      if node.kind == .directory, node.attributes.mtime != nil, entry.attributes.mtime == nil {
        // A directory's shown mtime is the live one until it is dropped from memory.
        var shown = entry.attributes
        shown.mtime = node.attributes.mtime
        node.attributes = shown
      } else {
        node.attributes = entry.attributes
      }
    }
    guard let file = node.file else { return }
    let taken = state.chosen(settle: settings.settle)
    if file.saved === taken { file.saved = nil }
    file.counted = nil
    if isUnchanged, !file.unsaved, file.saved == nil { node.file = nil }
    if file.saved == nil, !file.unsaved { node.file = nil }
  }

  /// Whether a node is exactly what the base holds at its name.
  private func isSettled(_ node: LiveNode) -> Bool {
    guard !node.isMoved, !node.attributesChanged, node.file == nil || node.file?.saved == nil,
      node.file?.unsaved != true
    else { return false }
    guard let directory = node.directory else { return node.entry != nil }
    return directory.basePath != nil && directory.basePath == node.path
      && directory.overrides.isEmpty
  }

  // MARK: - What others brought

  private func installForeign(_ change: ForeignChange, _ told: inout [Invalidation]) {
    let slash = change.path.lastIndex(of: 0x2F)
    let name = slash.map { Array(change.path[($0 + 1)...]) } ?? change.path
    let parentPath = slash.map { Array(change.path[..<$0]) } ?? []
    guard let parent = knownDirectory(parentPath) else { return }
    let override = parent.directory?.overrides[name]
    // A pending name shows its pending bytes until its cut.
    if let override, override.node == nil || override.node.map(isPending) == true {
      if let node = override.node, change.new == nil { node.entry = nil }
      return
    }
    let node =
      override?.node
      ?? change.old.flatMap { nodes[$0.inode] }.flatMap { $0.parent === parent ? $0 : nil }
    told.append(.entry(parent: parent.inode, name: name))
    guard let node else { return }
    guard let new = change.new, new.kind == node.kind else {
      parent.directory?.overrides[name] = nil
      unlink(node, time: Self.now())
      return
    }
    if node.handles > 0, node.kind != .directory, !sameBytes(node.entry, new) {
      detach(node, parent: parent, name: name, new: new)
      return
    }
    node.entry = new
    node.attributes = new.attributes
    node.ctime = Self.now()
    told.append(.node(node.inode))
  }

  private func sameBytes(_ a: Entry?, _ b: Entry) -> Bool {
    a?.stored.digest == b.stored.digest && a?.stored.length == b.stored.length
  }

  /// Gives a name to a new node and lets the old one live on for its handles.
  private func detach(_ node: LiveNode, parent: LiveNode, name: [UInt8], new: Entry) {
    guard let inode = spareInodes.first else { return }
    spareInodes = (inode + 1)..<spareInodes.upperBound
    let successor = LiveNode(
      inode: inode, kind: new.kind, parent: parent, name: name, entry: new,
      attributes: new.attributes, ctime: Self.now(), directory: nil)
    nodes[inode] = successor
    successor.isTouched = true
    successor.renewsInode = true
    touch(parent)
    parent.directory?.overrides[name] = Override(node: successor, epoch: epoch, stamp: stamp)
    node.isTouched = false
    node.move(to: nil, as: name)
    detachedNodes[node.inode] = Detached(
      node: node, parent: parent.inode, name: name, successor: inode, epoch: epoch)
    if node.file == nil { node.file = LiveFile(content: node.content) }
  }

  /// The node of a directory of the base, if it is in memory and still stands there.
  private func knownDirectory(_ path: [UInt8]) -> LiveNode? {
    if path.isEmpty { return root }
    var node = root
    for name in path.split(separator: 0x2F) {
      let name = Array(name)
      if let override = node.directory?.overrides[name] {
        guard let child = override.node, child.kind == .directory else { return nil }
        node = child
      } else if let known = childIndex(of: node, name) {
        node = known
      } else {
        return nil
      }
    }
    return node
  }

  /// A clean directory in memory by its name.
  private func childIndex(of parent: LiveNode, _ name: [UInt8]) -> LiveNode? {
    let path = (parent.directory?.basePath).map { $0.isEmpty ? name : $0 + [0x2F] + name }
    guard let path, let inode = impliedInodes[path] ?? knownInode(path) else { return nil }
    return nodes[inode].flatMap { $0.parent === parent && $0.name == name ? $0 : nil }
  }

  /// The inode number of a directory entry of the base; reads the map, whose upper nodes are in memory.
  private func knownInode(_ path: [UInt8]) -> UInt64? {
    guard case .directory(let entry?)? = try? base.find(path: path) else { return nil }
    return entry.inode
  }
}
