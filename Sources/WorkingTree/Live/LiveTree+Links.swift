import LLVSCore
import Platform
package import TreeNames

// Hard links: one node under several names.
//
// In the base, names with one link id are one file where their bytes and attributes are equal; such names
// have one inode number there (see LiveMap). A node that is in memory has all its names: they are found
// when the first of them is looked up, and again when a head that others made gives it more. So whatever
// changes through one name is found at each of them by the next cut.

/// A name of the base that leads to a file of several names.
struct LinkPlace {
  /// The way there from the root: each directory's name and what the base has of it.
  var way: [(name: [UInt8], found: TreeView.Found)]
  var name: [UInt8]
}

extension LiveTree {
  /// The most names of one file, as ext4 has it.
  static let linkLimit = 65_000

  /// All names of a file in the base; call without the lock.
  ///
  /// - Complexity: O(*k* log *n*) for *k* names.
  func linkPlaces(of entry: Entry, in view: TreeView) throws(StoreError) -> [LinkPlace] {
    guard let id = entry.attributes.linkID, entry.inode != 0 else { return [] }
    var places: [LinkPlace] = []
    for key in try store.keys(linkedBy: id) where key != entry.key {
      guard let other = try view.map.entry(at: key), other.inode == entry.inode,
        other.attributes.linkID == id, let place = try place(of: key, in: view)
      else { continue }
      places.append(place)
    }
    return places
  }

  private func place(of key: Key, in view: TreeView) throws(StoreError) -> LinkPlace? {
    var names = try view.path(of: key).split(separator: 0x2F).map { Array($0) }
    guard let name = names.popLast() else { return nil }
    var place = LinkPlace(way: [], name: name)
    var path: [UInt8] = []
    for name in names {
      guard let found = try view.child(of: path, named: name), case .directory(let entry) = found
      else { return nil }
      path = view.join(path, name)
      if entry?.inode ?? 0 == 0 { try learnImplied([path]) }
      place.way.append((name, found))
    }
    return place
  }

  /// Whether an entry of the base is a name of a node that other names led to; call with the lock held.
  func isLink(_ entry: Entry, of node: LiveNode) -> Bool {
    isLink(entry.attributes.linkID, entry.kind, of: node)
  }

  func isLink(_ id: [UInt8]?, _ kind: EntryKind, of node: LiveNode) -> Bool {
    id != nil && node.kind == kind && node.parent != nil && node.attributes.linkID == id
  }

  /// Gives a node a name of the base that nothing pending has changed; call with the lock held.
  func attach(_ node: LiveNode, at place: LinkPlace) {
    var directory = root
    var path: [UInt8] = []
    for (name, found) in place.way {
      let below = path.isEmpty ? name : path + [0x2F] + name
      guard let next = self.directory(found, in: directory, name, at: below, above: path) else {
        return dropIfUnused(directory)
      }
      directory = next
      path = below
    }
    guard directory.directory?.basePath == path,
      directory.directory?.overrides[place.name] == nil
    else { return dropIfUnused(directory) }
    attach(node, at: place.name, of: directory)
  }

  /// Gives a node a name that the base has of it: what is pending of the file is so under each of its names.
  func attach(_ node: LiveNode, at name: [UInt8], of directory: LiveNode) {
    node.addName(name, of: directory)
    guard node.isTouched, directory.directory?.overrides[name] == nil else { return }
    directory.directory?.overrides[name] = Override(
      node: node, epoch: epoch, stamp: stamp, hidesBase: true)
    touch(directory)
    // At replay the next generation begins with it.
    guard node.isJournaled, replayShift == nil else { return }
    ensureJournaled(directory)
    journal.append(
      .override(
        parent: directory.inode, name: name, inode: node.inode, epoch: epoch,
        hidesBase: true))
  }

  /// The node of a directory of the base, wherever it stands now; nil if it is gone.
  private func directory(
    _ found: TreeView.Found, in parent: LiveNode, _ name: [UInt8], at path: [UInt8],
    above: [UInt8]
  ) -> LiveNode? {
    guard case .directory(let entry) = found else { return nil }
    if parent.directory?.basePath == above, parent.directory?.overrides[name] == nil {
      return materialise(found, parent: parent, name: name, basePath: above)
    }
    if let node = parent.directory?.overrides[name]?.node, node.directory?.basePath == path {
      return node
    }
    var inode = impliedInodes[ImpliedName(path)] ?? 0
    if let entry, entry.inode != 0 { inode = entry.inode }
    guard let moved = nodes[inode], moved.directory?.basePath == path, moved.isLinked else {
      return nil
    }
    return moved
  }

  /// Finds names that a head which others made gave to files that are in memory.
  ///
  /// - Returns: the nodes whose link count changed, as the kernel names them.
  func completeLinks(_ inodes: Set<UInt64>) throws(StoreError) -> [UInt64] {
    var grown: [UInt64] = []
    for inode in inodes {
      while true {
        let (view, stamp, entry) = lock.withLock { _ in (names, baseStamp, nodes[inode]?.entry) }
        guard let entry, entry.attributes.linkID != nil else { break }
        // The node's own entry may bear any of its keys: none is left out.
        var anyKey = entry
        anyKey.key = Key(bytes: [])
        let places = try linkPlaces(of: anyKey, in: view)
        let isDone = lock.withLock { _ -> Bool in
          guard baseStamp == stamp else { return false }
          guard let node = nodes[inode], node.parent != nil else { return true }
          let before = node.furtherNames.count
          for place in places { attach(node, at: place) }
          if node.furtherNames.count != before { grown.append(node.kernelID) }
          return true
        }
        if isDone { break }
      }
    }
    return grown
  }

  /// Gives a file one more name: link(2); counts a look-up.
  ///
  /// - Throws: ``FSError/notPermitted`` for a directory, ``FSError/exists``, ``FSError/noEntry`` for a file
  ///   without a name or a directory that is gone, ``FSError/tooManyLinks``.
  package func link(
    _ inode: UInt64, _ parent: UInt64, _ name: [UInt8], thread: Int32 = 0
  ) throws(FSError) -> NodeStatus {
    guard name != ReservedName.bytes else { throw .exists }
    let process = threads.process(of: thread)
    try withRoom { () throws(FSError) in try journal.reserve(2048) }
    let id = SystemRandom.bytes(16)
    let (status, position) = try withChild(parent, name) {
      (directory, child) throws(FSError) -> (NodeStatus, Journal.Position) in
      guard child == nil else { throw .exists }
      guard directory.inode == Self.rootInode || directory.parent != nil else { throw .noEntry }
      try checkReach(name, in: directory)
      let node = try node(inode)
      guard node.kind != .directory else { throw .notPermitted }
      guard node.parent != nil else { throw .noEntry }
      guard node.furtherNames.count + 1 < Self.linkLimit else { throw .tooManyLinks }
      ensureJournaled(node)
      ensureJournaled(directory)
      let position = perform(
        .link(
          inode: node.inode, parent: directory.inode, name: name, id: node.attributes.linkID ?? id,
          time: Self.now(), epoch: epoch))
      noteChange(at: name, of: directory, by: process)
      node.lookups += 1
      return (self.status(of: node), position)
    }
    do throws(FSError) {
      try journal.commit(through: position)
    } catch {
      takeBack(status.inode, parent, name)
      throw error
    }
    return status
  }

  func applyLink(
    _ node: LiveNode, _ directory: LiveNode, _ name: [UInt8], id: [UInt8], time: Attributes.Time,
    epoch: UInt64, tick: UInt64
  ) {
    if node.attributes.linkID != id {
      node.attributes.linkID = id
      node.attributesChanged = true
    }
    node.addName(name, of: directory)
    node.ctime = time
    node.stamp = stamp
    // At its new name the base has nothing of it.
    node.isMoved = true
    putOverride(directory, name, node, time: time, epoch: epoch, tick: tick)
  }
}
