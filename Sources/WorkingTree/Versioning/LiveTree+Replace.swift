import LLVSCore
import Platform

// Other bytes for a name: docs/writes.md, rule 9.
//
// The kernel keeps pages and a size for each number that it was given for a node, and applies to it whatever
// reply comes last; what a notification drops, a reply that was on its way brings back.
//
// INVARIANT: a number that the kernel knows stands for one file's bytes, which change by what comes through
// the kernel alone. A merge that brings other bytes brings another number: the old one lives on, with its
// bytes, for handles, mappings and whoever finds it before the kernel was told that its name is another's.

extension LiveTree {
  /// Gives a name to a new node and lets the old one, which is open, live on for its handles.
  ///
  /// - Returns: the number of the new node.
  func detach(
    _ node: LiveNode, from place: NodeName, for new: Entry, seen: UInt64
  ) -> UInt64 {
    let (parent, name) = (place.parent, place.name)
    if let known = detachedNodes[node.inode], let successor = nodes[known.successor],
      isLink(new, of: successor)
    {
      // Another name of the file went the same way.
      successor.addName(name, of: parent)
      parent.directory?.overrides[name] = Override(
        node: successor, epoch: epoch, stamp: stamp, hidesBase: true)
      touch(parent)
      node.removeName(name, of: parent)
      return successor.inode
    }
    let inode = takeSpareInode()
    let kept = KeptEntry(new, of: source)
    let successor = LiveNode(
      inode: inode, kind: new.kind, parent: parent, name: name, entry: kept.entry,
      attributes: kept.entry.attributes, ctime: Self.now(), directory: nil)
    (successor.storedExtended, successor.baseExtended) = (kept.extended, kept.extended)
    successor.born = storedTime(new)
    remember(successor)
    if new.attributes.linkID != nil { grownLinks.insert(inode) }
    if let shown = shownTimes[new.inode] {
      shownTimes[inode] = shown
      successor.attributes.mtime = shown
    }
    successor.isTouched = true
    successor.renewsInode = true
    touch(parent)
    parent.directory?.overrides[name] = Override(
      node: successor, epoch: epoch, stamp: stamp, hidesBase: true)
    let links = UInt32(node.names.count)
    node.isTouched = false
    node.removeName(name, of: parent)
    noteDetached(
      node, from: place, successor: inode, seen: seen, shown: (node.inode, links))
    return inode
  }

  /// Makes a name that a node had one more of another file's; the node lives on for its handles.
  func join(_ node: LiveNode, from place: NodeName, to inode: UInt64, seen: UInt64) {
    let links = UInt32(node.names.count)
    place.parent.directory?.overrides[place.name] = nil
    node.isTouched = false
    node.removeName(place.name, of: place.parent)
    guard node.handles > 0 || node.lookups > 0 else { return dropIfUnused(node) }
    noteDetached(
      node, from: place, successor: inode, seen: seen, shown: (node.inode, links))
  }

  /// Gives a node that nobody has open another number for the kernel, if that knows it: the number it knows
  /// goes on as a node without a name, with the bytes of before.
  func retire(
    _ node: LiveNode, from place: NodeName, seen: UInt64, _ told: inout [Invalidation]
  ) {
    guard node.lookups > 0 else { return }
    // The kernel knows it by that number at each of its names.
    told += node.names.map { .entry(parent: $0.parent.kernelID, name: $0.name) }
    let old = LiveNode(
      inode: takeSpareInode(), kind: node.kind, parent: nil, name: place.name, entry: node.entry,
      attributes: node.attributes, ctime: node.ctime, directory: nil)
    (old.storedExtended, old.baseExtended) = (node.storedExtended, node.baseExtended)
    old.born = node.born
    old.zeroBytes = node.zeroBytes
    accessTimes[old.inode] = accessTimes[node.inode]
    old.kernelID = node.kernelID
    old.lookups = node.lookups
    remember(old)
    identified[old.kernelID] = old
    node.kernelID = takeSpareInode()
    node.lookups = 0
    identified[node.kernelID] = node
    noteDetached(
      old, from: place, successor: node.inode, seen: seen,
      shown: (node.inode, UInt32(node.names.count)))
  }

  /// Lets a file that a merge removes live on for its handles, and for whoever opens it before the kernel was
  /// told that it is gone: what is saved through those later is an edit beside the removal, and the edit wins.
  func leave(_ node: LiveNode, at path: [UInt8], seen: UInt64) {
    guard node.kind == .regular, node.handles > 0 || node.lookups > 0, node.furtherNames.isEmpty
    else { return }
    if node.file == nil { node.file = LiveFile(content: node.content) }
    note(
      Detached(
        node: node, parent: Detached.nowhere, name: path, successor: Detached.anybody, epoch: seen,
        shown: nil))
    left.insert(node.inode)
  }

  /// The same for those that earlier merges had detached from the name.
  func leave(_ former: [UInt64], at path: [UInt8]) {
    for inode in former {
      guard let one = detachedNodes[inode] else { continue }
      note(
        Detached(
          node: one.node, parent: Detached.nowhere, name: path, successor: Detached.anybody,
          epoch: one.epoch, shown: one.shown))
      left.insert(inode)
    }
  }

  /// A merge gives a name on from the node that stood there since an earlier one: what that one had detached
  /// goes on belonging to the name.
  func pass(_ former: [UInt64], from node: LiveNode, to successor: UInt64) {
    for inode in former where detachedNodes[inode]?.successor == node.inode {
      detachedNodes[inode]?.successor = successor
    }
  }

  /// The detached nodes by the places of the names they had.
  var detachedPlaces: [Detached.Place: [UInt64]] {
    var places: [Detached.Place: [UInt64]] = [:]
    for (inode, one) in detachedNodes {
      places[Detached.Place(parent: one.parent, name: one.name), default: []].append(inode)
    }
    return places
  }

  /// Somebody here removes a name or gives it away: what a merge had removed there stays away.
  func forgetLeft(at name: [UInt8], of parent: LiveNode) {
    guard !left.isEmpty, let above = parent.path else { return }
    let path = above.isEmpty ? name : above + [0x2F] + name
    for inode in left {
      guard let one = detachedNodes[inode], one.name == path else { continue }
      forgetDetached(inode)
      dropIfUnused(one.node)
    }
  }

  private func noteDetached(
    _ node: LiveNode, from place: NodeName, successor: UInt64, seen: UInt64,
    shown: (inode: UInt64, links: UInt32)
  ) {
    // Apart from the base, which has other bytes at the name.
    if node.file == nil { node.file = LiveFile(content: node.content) }
    note(
      Detached(
        node: node, parent: place.parent.inode, name: place.name, successor: successor,
        epoch: seen, shown: shown))
    untold.append(node.inode)
  }

  /// Notes a detached node; the directory of the name that it had stays in memory as long as it does.
  func note(_ detached: Detached) {
    nodes[detached.parent]?.pins += 1
    let former = detachedNodes.updateValue(detached, forKey: detached.node.inode)
    if let former { unpin(former) }
  }

  func forgetDetached(_ inode: UInt64) {
    left.remove(inode)
    guard let former = detachedNodes.removeValue(forKey: inode) else { return }
    // No handle will save it.
    if former.node.handles == 0 { unsavedNodes[inode] = nil }
    unpin(former)
  }

  private func unpin(_ detached: Detached) {
    guard let directory = nodes[detached.parent] else { return }
    directory.pins -= 1
    dropIfUnused(directory)
  }

  /// Whether what is written to a node is a change of a name, once it is saved.
  func belongsToName(_ node: LiveNode) -> Bool {
    node.parent != nil || detachedNodes[node.inode] != nil
  }

  /// Gives a node that was found in the base a number for the kernel, which may know another by its own.
  func giveOwnID(_ node: LiveNode) {
    guard !identified.isEmpty, identified[node.inode] != nil else { return }
    node.kernelID = takeSpareInode()
    identified[node.kernelID] = node
  }

  /// The names at which the kernel may know a node that an install took from there, while it is being told.
  struct UntoldNames {
    /// What it is being told; nil while that is all that the install changed.
    var telling: Set<KernelName>?
    /// Where programs moved such names since, which it must hear next.
    var moved: Set<KernelName> = []

    /// The kernel moved what it knew at a name.
    mutating func move(from old: KernelName, to new: KernelName) {
      if telling?.contains(old) ?? true || moved.contains(old) { moved.insert(new) }
    }
  }

  /// Shows that detached nodes have no name, now that the kernel was told so.
  ///
  /// - Returns: what it must be told next; nothing once it has heard all.
  func noteTold() -> [Invalidation] {
    lock.withLock { _ in
      let moved = untoldNames?.moved ?? []
      untoldNames = moved.isEmpty ? nil : UntoldNames(telling: moved)
      defer { untold = [] }
      return moved.map { .entry(parent: $0.parent, name: $0.name) }
        + untold.compactMap { inode in
          guard let node = detachedNodes[inode]?.node else { return nil }
          detachedNodes[inode]?.shown = nil
          return node.lookups > 0 ? .node(node.kernelID) : nil
        }
    }
  }
}
