import Grammar
import LLVSCore
import Platform
import TreeNames

// What others brought: the changes of a new head that are not of this tree.

extension LiveTree {
  /// Gives a file in memory the name under which the new base shows it, its handles and pages included.
  func showElsewhere(
    _ change: ForeignChange, _ seen: PlanSeen, _ told: inout [Invalidation]
  ) {
    guard let from = change.from else { return }
    let (parentPath, oldName) = Self.split(from)
    guard let parent = knownDirectory(change.parent, at: parentPath) else { return }
    let newName = Self.split(change.path).name
    for name in [oldName, newName] {
      told.append(.entry(parent: parent.kernelID, name: name))
    }
    noteShown(from, in: parent, before: change.old?.kind, after: nil, otherBytes: true)
    noteShown(change.path, in: parent, before: nil, after: change.new?.kind, otherBytes: true)
    // One more of a file's names, where something pending had the one it had.
    if let new = change.new { noteGrown(new) }
    parent.directory?.overrides[newName]?.hidesBase = true
    let override = parent.directory?.overrides[oldName]
    // A pending name shows its pending bytes until its cut.
    if let override, override.node.map(isPending) ?? true { return }
    let node =
      override?.node
      ?? [change.old?.inode, change.new?.inode].lazy
      .compactMap { [nodes] number in number.flatMap { nodes[$0] } }
      .first { $0.stands(at: oldName, of: parent) }
    guard let node, node.kind != .directory else { return }
    parent.directory?.overrides[oldName] = nil
    guard parent.directory?.overrides[newName] == nil else {
      // Something newer has the name: who has it open has seen it at the one it had.
      leave(node, at: from, seen: seen.epoch(of: node))
      return unlink(node, from: oldName, of: parent, time: Self.now())
    }
    node.addName(newName, of: parent)
    node.removeName(oldName, of: parent)
    if let override { parent.directory?.overrides[newName] = override }
    for (inode, one) in detachedNodes
    where one.parent == parent.inode && one.name == oldName && one.successor == node.inode {
      detachedNodes[inode]?.name = newName
    }
  }

  private func noteGrown(_ entry: Entry) {
    guard entry.attributes.linkID != nil, nodes[entry.inode]?.parent != nil else { return }
    grownLinks.insert(entry.inode)
  }

  private static func split(_ path: [UInt8]) -> (above: [UInt8], name: [UInt8]) {
    guard let slash = path.lastIndex(of: 0x2F) else { return ([], path) }
    return (Array(path[..<slash]), Array(path[(slash + 1)...]))
  }

  func installForeign(
    _ change: ForeignChange, _ seen: PlanSeen, _ told: inout [Invalidation]
  ) {
    let (parentPath, name) = Self.split(change.path)
    if let new = change.new { noteReplaced(change.old, by: new) }
    if let new = change.new { noteGrown(new) }
    noteEntryGone(change, &told)
    guard let parent = knownDirectory(change.parent, at: parentPath) else { return }
    noteShown(
      change.path, in: parent, before: change.old?.kind, after: change.new?.kind,
      otherBytes: change.new.map { !sameBytes(change.old?.stored, $0) } ?? true)
    var override = parent.directory?.overrides[name]
    if override != nil {
      // Without an entry names below may still say that a directory is there.
      parent.directory?.overrides[name]?.hidesBase =
        change.new != nil || isAnything(change.path)
    }
    // A value that has come to the name of a directory which goes is not what goes.
    let isOthers =
      change.new == nil && change.old?.isDirectory == true
      && override?.node.map { $0.kind != .directory } ?? false
    if isOthers { override = nil }
    // A pending name shows its pending bytes until its cut.
    let isGone = override?.node.map { loses($0, by: change) } ?? false
    if let override, !isGone, override.node.map(isPending) ?? true { return }
    let node =
      override?.node
      ?? [change.old?.inode, change.new?.inode, impliedInodes[ImpliedName(change.path)]].lazy
      .compactMap { [nodes] number in number.flatMap { nodes[$0] } }
      .first { $0.stands(at: name, of: parent) }
    let anotherNode = Invalidation.entry(parent: parent.kernelID, name: name)
    let former = seen.detached(at: name, of: parent)
    if change.new == nil { leave(former, at: change.path) }
    guard let node else { return told.append(anotherNode) }
    guard let new = change.new, new.kind == node.kind else {
      if hold(node, at: change.path, name, of: parent, &told) { return }
      if !isOthers { parent.directory?.overrides[name] = nil }
      leave(node, at: change.path, seen: seen.epoch(of: node))
      pass(former, from: node, to: Detached.anybody)
      unlink(node, from: name, of: parent, time: Self.now())
      told += [anotherNode, .node(node.kernelID)]
      return
    }
    let isAnother = new.inode != node.inode && node.kind != .directory
    if isAnother, !node.furtherNames.isEmpty || detachedNodes[node.inode] != nil {
      // The name is another file's now; this one goes on under the names it has left, or lives on for those
      // that it had.
      parent.directory?.overrides[name] = nil
      pass(former, from: node, to: Detached.anybody)
      unlink(node, from: name, of: parent, time: Self.now())
      told += [anotherNode, .node(node.kernelID)]
      return
    }
    let changesBytes =
      !sameBytes(node.stored, new) || node.attributes.device != new.attributes.device
    if node.kind != .directory, changesBytes || isAnother {
      told.append(anotherNode)
      let place = NodeName(parent: parent, name: name)
      let epoch = seen.epoch(of: node)
      if isAnother, isName(new) {
        join(node, from: place, to: new.inode, seen: epoch)
        return pass(former, from: node, to: new.inode)
      }
      // Its number is that of a name which it was parted from.
      if node.handles > 0 || isAnother {
        let successor = detach(node, from: place, for: new, seen: epoch)
        return pass(former, from: node, to: successor)
      }
      retire(node, from: place, seen: epoch, &told)
      node.file = nil
    }
    if node.kind == .directory, new.inode != node.inode {
      // Only names below said that it is there until now: it keeps the number that it had for those.
      node.renewsInode = true
      touch(node)
    }
    node.zeroBytes = 0
    if node.kind != .directory { node.born = storedTime(new) }
    let shown = node.kind == .directory ? node.attributes.mtime : nil
    node.take(KeptEntry(new, of: source))
    if let shown, new.attributes.mtime == nil { node.attributes.mtime = shown }
    node.ctime = Self.now()
    if node.kind != .directory, let shown = shownTimes[new.inode] { node.attributes.mtime = shown }
    node.compact()
    // A directory stands here for what is ignored in it too: what is changed from here on is changed on this.
    if parent.directory?.overrides[name]?.node === node {
      parent.directory?.overrides[name]?.epoch = epoch
    }
    told.append(.node(node.kernelID))
    dropIfUnused(node)
  }

  /// Leaves a directory where it is though others removed it, if something was made in it, or if only names below
  /// still say that it is there: without what they took from it.
  private func hold(
    _ node: LiveNode, at path: [UInt8], _ name: [UInt8], of parent: LiveNode,
    _ told: inout [Invalidation]
  ) -> Bool {
    let isHeld = node.directory?.overrides.values.contains { $0.node != nil } ?? false
    guard isHeld || node.kind == .directory && isThere(path) else { return false }
    loseEntry(node, &told)
    // Only names below say that it is there now.
    impliedInodes[ImpliedName(path)] = node.inode
    parent.directory?.overrides[name]?.stamp = stamp
    parent.directory?.overrides[name]?.epoch = epoch
    return true
  }

  /// A directory from which others took its entry has none either where it was moved to meanwhile: what is still
  /// at the path is another.
  private func noteEntryGone(_ change: ForeignChange, _ told: inout [Invalidation]) {
    guard change.new == nil, let old = change.old, old.isDirectory, let node = nodes[old.inode],
      let directory = node.directory, directory.basePath == change.path, node.path != change.path,
      isThere(change.path)
    else { return }
    guard node.attributesChanged else { return loseEntry(node, &told) }
    (node.entry, node.baseExtended) = (nil, nil)
  }

  private func loseEntry(_ node: LiveNode, _ told: inout [Invalidation]) {
    node.entry = nil
    let time = node.attributes.mtime
    (node.storedExtended, node.baseExtended) = (nil, nil)
    node.attributes = Attributes()
    node.attributes.mtime = time
    node.attributesChanged = false
    node.explicitTime = false
    told.append(.node(node.kernelID))
  }

  /// Whether an entry is a name of a file of several, which looking it up finds.
  private func isName(_ entry: Entry) -> Bool {
    guard entry.attributes.linkID != nil else { return false }
    return nodes[entry.inode].map { isLink(entry, of: $0) } ?? true
  }

  /// Whether a change takes away the directory that a node is: that somebody gave it attributes meanwhile keeps
  /// it no more than a file that others removed.
  private func loses(_ node: LiveNode, by change: ForeignChange) -> Bool {
    node.directory?.basePath == change.path && change.new?.isDirectory != true
      && !isThere(change.path)
  }

  /// Whether the new base has a directory at a path; where that cannot be read it is found out later.
  private func isThere(_ path: [UInt8]) -> Bool {
    guard case .directory? = try? names.find(path: path) else { return false }
    return true
  }

  /// Whether the new base has anything at a path.
  private func isAnything(_ path: [UInt8]) -> Bool {
    do throws(StoreError) {
      return try names.find(path: path) != nil
    } catch {
      // What cannot be read is there.
      return true
    }
  }

  func installImplied(_ change: ImpliedChange, _ told: inout [Invalidation]) {
    let (parentPath, name) = Self.split(change.path)
    guard let parent = knownDirectory(change.parent, at: parentPath) else { return }
    told.append(.entry(parent: parent.kernelID, name: name))
    noteShown(
      change.path, in: parent, before: change.isThere ? nil : .directory,
      after: change.isThere ? .directory : nil, otherBytes: true)
    if let override = parent.directory?.overrides[name] {
      // The value whose name the directory had may be there instead.
      parent.directory?.overrides[name]?.hidesBase = change.isThere || isAnything(change.path)
      // What was there of it goes as one does that had an entry.
      guard !change.isThere, let node = override.node,
        node.directory?.basePath == change.path,
        !hold(node, at: change.path, name, of: parent, &told)
      else { return }
      parent.directory?.overrides[name] = nil
      unlink(node, from: name, of: parent, time: Self.now())
      told.append(.node(node.kernelID))
      return
    }
    guard !change.isThere,
      let node = impliedInodes[ImpliedName(change.path)].flatMap({ nodes[$0] }),
      node.stands(at: name, of: parent)
    else { return }
    unlink(node, from: name, of: parent, time: Self.now())
    told.append(.node(node.kernelID))
  }

  /// With `mtime=now` what a merge replaced shows when that was; it is no change, and not recorded.
  private func noteReplaced(_ old: Entry?, by new: Entry) {
    let hasOtherBytes = !sameBytes(old?.stored, new)
    if hasOtherBytes, settings.mtime == .now, new.kind == .regular {
      noteShown(new.inode, Self.now())
    } else if hasOtherBytes || old?.attributes.mtime != new.attributes.mtime {
      shownTimes[new.inode] = nil
    }
  }

  func noteShown(_ inode: UInt64, _ time: Attributes.Time?) {
    if shownTimes.count >= 1 << 20 { shownTimes = [:] }
    shownTimes[inode] = time
  }

  private func sameBytes(_ a: StoredContent?, _ b: Entry) -> Bool {
    a?.digest == b.stored.digest && a?.length == b.stored.length
  }

  /// The node of a directory of the base, if it is in memory, wherever it stands now.
  ///
  /// Numbers do not lead to one that stayed for what is ignored in it when others removed it, and then came
  /// back with another number: it differs from the base, so it stands in the overrides of what is above it.
  private func knownDirectory(_ inode: UInt64, at path: [UInt8]) -> LiveNode? {
    let number = inode != 0 ? inode : impliedInodes[ImpliedName(path)]
    if let node = number.flatMap({ nodes[$0] }), node.directory?.basePath == path { return node }
    var node = root
    for name in path.split(separator: 0x2F) {
      guard let below = node.directory?.overrides[Array(name)]?.node else { return nil }
      node = below
    }
    return node.directory?.basePath == path ? node : nil
  }
}
