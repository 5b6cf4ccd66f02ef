import LLVSCore
import Platform

// What the writer of a change had seen (docs/writes.md, rules 7 and 9): what the file shows for a
// handle of one at a name, the version at open and of its own last save for one of a detached
// file, what was last opened for reading at the name for a process that replaces or truncates it,
// else the head.

extension LiveTree {
  /// The epoch whose tree a node shows: of bytes that are pending, the one they were made in.
  ///
  /// Call with the lock held.
  func shownEpoch(of node: LiveNode) -> UInt64 {
    if let detached = detachedNodes[node.inode] { return detached.epoch }
    guard node.isTouched, let file = node.file else { return epoch }
    var shown = epoch
    if file.unsaved {
      shown = min(shown, file.writerEpoch)
    } else if let saved = file.saved {
      shown = min(shown, saved.takenIn ?? saved.epoch)
    }
    if node.furtherNames.isEmpty,
      let override = node.parent?.directory?.overrides[node.name], override.node === node,
      file.saved != nil || file.unsaved
    {
      // A file that was renamed over the name by somebody who had seen an older one; of several names the
      // others are not.
      shown = min(shown, override.epoch)
    }
    return shown
  }

  /// The epoch that the writer of a handle has seen.
  ///
  /// A file at a name shows its handles all that anybody here saved, and a merge or a switch that changes its
  /// bytes detaches it: what is written goes on with what it shows, however long it has been open.
  /// Call with the lock held.
  func seenEpoch(of handle: LiveHandle) -> UInt64 {
    let node = handle.node
    guard detachedNodes[node.inode] != nil else { return shownEpoch(of: node) }
    // Somebody who had seen less wrote into the file that this one has open: neither has what the newer
    // version brought.
    guard let lowest = node.lowest, lowest.stamp > handle.seenStamp, lowest.epoch < handle.opened
    else { return handle.seenEpoch }
    return min(handle.seenEpoch, lowest.epoch)
  }

  /// Where the memory of what a process read at a node's name stands; nil for a process that nobody
  /// knows. Call with the lock held.
  func place(of process: Int32, at node: LiveNode) -> ReaderMemory.Place? {
    guard process != 0 else { return nil }
    if let detached = detachedNodes[node.inode] {
      return ReaderMemory.Place(process: process, parent: detached.parent, name: detached.name)
    }
    guard let parent = node.parent else { return nil }
    return ReaderMemory.Place(process: process, parent: parent.inode, name: node.name)
  }

  /// The epoch that a process which truncates a node had seen of it: at its name, or at any where it has
  /// several; nil if it never looked, as far as remembered. Call with the lock held, after ``confirm(_:)``.
  func remembered(_ process: Int32, at node: LiveNode) -> UInt64? {
    if let parent = node.parent, let made = epochMade(at: node.name, of: parent, by: process) {
      return made
    }
    let named = remembered(place(of: process, at: node))
    guard let own = remembered(linkedPlace(of: process, at: node)) else { return named }
    return max(own, named ?? 0)
  }

  /// The epoch that a process had seen which put at a name what stands there now, and no cut has taken it: it
  /// knows that, whatever it read there before. Call with the lock held.
  func epochMade(at name: [UInt8], of directory: LiveNode, by process: Int32) -> UInt64? {
    guard process != 0, let override = directory.directory?.overrides[name],
      override.node != nil, override.process == process
    else { return nil }
    return override.epoch
  }

  /// Where the memory of what a process read in a file of several names stands, under whichever it was; nil
  /// for any other file.
  func linkedPlace(of process: Int32, at node: LiveNode) -> ReaderMemory.Place? {
    guard process != 0, node.attributes.linkID != nil, detachedNodes[node.inode] == nil else {
      return nil
    }
    return ReaderMemory.Place(process: process, parent: node.inode, name: [])
  }

  /// The epoch that a process which replaces or truncates a name had seen there; nil if it never looked,
  /// as far as remembered. Call with the lock held, after ``confirm(_:)``.
  func remembered(_ place: ReaderMemory.Place?) -> UInt64? {
    guard let place, let seen = readers[place]?.epoch, epochs[seen] != nil else { return nil }
    return seen
  }

  /// The same for a name at which nothing is, and something is put.
  ///
  /// Nil where the head has nothing there either, as after a merge that removed it: nothing is replaced then,
  /// whatever the process read there before. Where it was taken away since the last version, as editors
  /// do that put the old file aside and make a new one, what the head has is replaced by that; but for who
  /// removed an earlier one itself.
  func remembered(
    absent place: ReaderMemory.Place?, _ name: [UInt8], of directory: LiveNode
  ) -> UInt64? {
    guard directory.directory?.overrides[name]?.hidesBase == true,
      let place, readers[place]?.isAbsent == false
    else { return nil }
    return remembered(place)
  }

  /// What a process had seen at a name that it gives to a file, in place of what is there or not; nil for
  /// directories, and where it never looked. Call with the lock held.
  func seen(
    by process: Int32, at name: [UInt8], of directory: LiveNode, over: LiveNode?,
    renaming node: LiveNode
  ) -> UInt64? {
    guard node.kind != .directory, process != 0 else { return nil }
    if let made = epochMade(at: name, of: directory, by: process) { return made }
    let place = ReaderMemory.Place(process: process, parent: directory.inode, name: name)
    guard let over else { return remembered(absent: place, name, of: directory) }
    return [remembered(place), remembered(linkedPlace(of: process, at: over))]
      .compactMap(\.self).max()
  }

  /// Notes what somebody had seen who writes into a file that others may have open; call with the lock held.
  func noteWriting(_ node: LiveNode, epoch: UInt64) {
    guard node.handles > 0 else { return }
    node.lowest = LiveNode.Lowest(
      epoch: min(epoch, node.lowest?.epoch ?? epoch), stamp: stamp)
  }

  /// Whether two epochs stand for different versions; call with the lock held.
  func differs(_ a: UInt64, from b: UInt64) -> Bool {
    a != b && (epochs[a] ?? head) != (epochs[b] ?? head)
  }

  /// Notes that a process opened a node for reading; call with the lock held.
  func noteReading(_ process: Int32, of node: LiveNode, epoch: UInt64) {
    guard let place = place(of: process, at: node) else { return }
    let seen = ReaderMemory.Seen(epoch: epoch, time: SystemClock.sinceBoot())
    readers.note(place, seen)
    guard let own = linkedPlace(of: process, at: node) else { return }
    readers.note(own, seen)
    for further in furtherPlaces(of: process, at: node) { readers.note(further, seen) }
  }

  /// Where the memory of what a process read at a file's further names stands, at those where there is any: of
  /// more than a few, they are left out.
  private func furtherPlaces(of process: Int32, at node: LiveNode) -> [ReaderMemory.Place] {
    node.furtherNames.prefix(64).compactMap { further in
      let place = ReaderMemory.Place(
        process: process, parent: further.parent.inode, name: further.name)
      return readers[place] == nil ? nil : place
    }
  }

  /// Notes who saved a node, if it is remembered what the process has seen there: its own save is what it
  /// has seen then. Call with the lock held.
  func noteSaver(of node: LiveNode, _ process: Int32) {
    guard let saved = node.file?.saved else { return }
    let known = knownPlaces(of: process, at: node)
    if !known.isEmpty { saved.readers = known }
  }

  /// Where it is remembered what a process has seen of a node.
  private func knownPlaces(of process: Int32, at node: LiveNode) -> [ReaderMemory.Place] {
    var known = [place(of: process, at: node), linkedPlace(of: process, at: node)]
      .compactMap { $0 }.filter { readers[$0] != nil }
    if !known.isEmpty, detachedNodes[node.inode] == nil {
      known += furtherPlaces(of: process, at: node)
    }
    return known
  }

  /// Notes who set attributes of a file: of what it has seen as it is, it has seen those too. Call with the
  /// lock held.
  func noteSetter(of node: LiveNode, _ process: Int32) {
    guard process != 0, node.kind != .directory, detachedNodes[node.inode] == nil else { return }
    let known = knownPlaces(of: process, at: node)
    if !known.isEmpty { setters[node.inode, default: []].formUnion(known) }
  }

  /// Notes who made or removed a name; call with the lock held.
  func noteChange(at name: [UInt8], of directory: LiveNode, by process: Int32) {
    guard process != 0, let tree = directory.directory else { return }
    guard tree.overrides[name] == nil else {
      tree.overrides[name]?.process = process
      return
    }
    // It removed what no version has there, so no cut tells.
    readers.move(
      ReaderMemory.Place(process: process, parent: directory.inode, name: name), to: epoch,
      isAbsent: true)
  }

  /// Forgets what is remembered of an earlier process with the number of the one that asks; without the
  /// lock. /proc is read only if heads were installed since the process read there.
  ///
  /// What is found stays true during the request: who waits for its answer does not end.
  func confirm(_ find: () -> ReaderMemory.Place?) {
    let doubtful = lock.withLock { _ -> (ReaderMemory.Place, UInt64)? in
      guard let place = find(), let seen = readers[place], differs(seen.epoch, from: epoch) else {
        return nil
      }
      return (place, seen.time)
    }
    guard let (place, time) = doubtful else { return }
    if let start = SystemProcess.start(of: place.process), start <= time { return }
    lock.withLock { _ in readers.forget(place) }
  }

  func confirm(_ process: Int32, at inode: UInt64) {
    guard process != 0 else { return }
    confirm { known(inode).flatMap { place(of: process, at: $0) } }
  }

  func confirm(_ process: Int32, _ parent: UInt64, _ name: [UInt8]) {
    guard process != 0 else { return }
    confirm { ReaderMemory.Place(process: process, parent: parent, name: name) }
  }
}
