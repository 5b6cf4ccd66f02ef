import Inodes
import LLVSCore

extension Overlay {
  /// Applies a change, for calls and for replay of the journal; without the inodes that it names it has no effect.
  package mutating func apply(_ change: Change) {
    if case .release(let number) = change.operation { return release(number) }
    stamp = stamp.next
    switch change.operation {
    case .node(let number, let node): put(node, number)
    case .create(let number, let place, let kind, let attributes, let content, let saved, let seen):
      create(number, at: place, kind, attributes, content, isSaved: saved, seen, change)
    case .write(let number, let extent, let flags, let seen):
      alter(number, flags, seen, change.time) { $0.write(extent) }
    case .resize(let number, let size, let flags, let seen):
      alter(number, flags, seen, change.time) { $0.resize(to: size) }
    case .punch(let number, let range, let flags, let seen):
      alter(number, flags, seen, change.time) { $0.punchHole(range) }
    case .save(let number, let isFirm): save(number, change.time, isFirm: isFirm)
    case .attributes(let number, let attributes, let lacksExtended, let setsTime):
      set(attributes, of: number, change.time, setsTime: setsTime)
      nodes[number]?.lacksExtended = lacksExtended
    case .link(let number, let place, let id, let seen): link(number, at: place, id, seen, change)
    case .unlink(let place, let number, let isKept, let remover):
      put(nil, at: place, over: number, seen: nil, change, by: remover)
      lose(number, place, isKept: isKept, change.time)
      if remover != .reader { giveAway(place) }
    case .rmdir(let place, let number): removeDirectory(place, of: number, change)
    case .rename(let number, let from, let to, let over, let isKept, let remover, let seen):
      if remover != .reader, number != over, nodes.contains(number) { giveAway(from) }
      rename(number, from, to, over: over, isKept: isKept, by: remover, seen, change)
    case .exchange(let one, let place, let other, let otherPlace, let seen, let otherSeen):
      exchange(one, place, other, otherPlace, (seen, otherSeen), change)
    case .release: break
    }
  }

  private mutating func put(_ node: PendingNode, _ number: InodeNumber) {
    nodes[number] = node
    if node.orphan != nil { orphans.insert(number) }
    // A file is removed again if nothing of it becomes pending.
    if node.isPending || !node.isDirectory { sinceCut.inodes.insert(number) }
  }

  /// Sets the inode at a name, over `over`; nil removes it. A change over pending changes or bytes is made on their
  /// version, because programs saw those and not the head's.
  mutating func put(
    _ number: InodeNumber?, at place: InodeName, over: InodeNumber?, seen: Epoch?, _ change: Change,
    by remover: Change.Remover = .other
  ) {
    let old = changes[place]
    let before = old ?? unchanged(over)
    let stamp = stamp
    _ = nodes.change(place.directory) { $0.noteBytes(change.time, stamp) }
    // The name of scratch stays free until the next cut: a program may make the file again.
    if !isCutting, !(place.isAside && number == nil),
      isRecorded(number, at: place, before.hidesRecorded)
    {
      return setChange(nil, at: place, over: old)
    }
    let under = over.flatMap { nodes.epoch(of: $0) }
    var new = before.following(number, seen: seen, under: under, stamp)
    new.isDirectory = isDirectory(number)
    new.isUnseen = number == nil && remover == .behind
    setChange(new, at: place, over: old)
  }

  /// What the recorded tree has at a name without a change, as a change.
  private func unchanged(_ recorded: InodeNumber?) -> NameChange {
    var change = NameChange(inode: recorded, stamp: stamp, hidesRecorded: recorded != nil)
    change.hidesDirectory = isDirectory(recorded)
    return change
  }

  private func isDirectory(_ number: InodeNumber?) -> Bool {
    number.map { nodes.kind(of: $0) == .directory } ?? false
  }

  private func isRecorded(_ number: InodeNumber?, at place: InodeName, _ hides: Bool) -> Bool {
    guard let number else { return !hides }
    return hides && nodes[number]?.recordedNames.contains(place) ?? false
  }

  private mutating func create(
    _ number: InodeNumber, at place: InodeName, _ kind: EntryKind, _ attributes: Attributes,
    _ content: FileContent, isSaved: Bool, _ seen: Epoch?, _ change: Change
  ) {
    var attributes = attributes
    // Only changes of its names move the mtime of a directory.
    if kind == .directory, attributes.mtime == nil { attributes.mtime = change.time }
    nodes.insert(
      PendingNode(
        kind: kind, attributes: attributes, changed: change.time,
        file: kind == .directory ? nil : PendingFile(new: content), names: [place], stamp: stamp),
      number)
    if kind == .directory, ignoredDirectories.contains(place.directory) {
      ignoredDirectories.insert(number)
    }
    list(number)
    put(number, at: place, over: nil, seen: seen, change)
    if isSaved, kind != .directory { save(number, change.time, isFirm: true) }
  }

  /// Removes a name of a node; with the last one the node is forgotten unless a handle holds it.
  private mutating func lose(
    _ number: InodeNumber, _ place: InodeName, isKept: Bool, _ time: Attributes.Time
  ) {
    let stamp = stamp
    _ = nodes.change(number) { $0.lose(place, time, stamp) }
    guard let names = nodes.names(of: number), names.isEmpty else {
      // The node may exist for the name alone.
      if nodes.contains(number) { list(number) }
      return
    }
    if isKept { makeOrphan(number, .gone) } else { forget(number) }
  }

  private mutating func removeDirectory(
    _ place: InodeName, of number: InodeNumber, _ change: Change
  ) {
    put(nil, at: place, over: number, seen: epochOfEmptiness(of: number), change)
    loseName(number)
    giveAway(place)
    for orphan in orphans {
      guard case .detached(let name?, _, _)? = nodes[orphan]?.orphan, name.directory == number
      else { continue }
      nodes[orphan]?.orphan = .gone
    }
  }

  /// The next head forgets the directory.
  private mutating func loseName(_ directory: InodeNumber) {
    guard nodes.contains(directory) else { return }
    nodes[directory]?.names = []
    sinceCut.inodes.insert(directory)
  }

  private mutating func rename(
    _ number: InodeNumber, _ from: InodeName, _ to: InodeName, over: InodeNumber?, isKept: Bool,
    by remover: Change.Remover, _ seen: Epoch?, _ change: Change
  ) {
    guard number != over, nodes.contains(number) else { return }
    put(nil, at: from, over: number, seen: nil, change, by: remover)
    let replacesDirectory = isDirectory(over)
    let emptied = over.flatMap { replacesDirectory ? epochOfEmptiness(of: $0) : nil }
    put(number, at: to, over: over, seen: seen.older(emptied), change)
    move(number, from, to, change.time)
    // Scratch that a person tracks leaves no name to be made again.
    if from.isAside, to == from.own { setChange(nil, at: from) }
    guard let over else { return }
    if replacesDirectory {
      loseName(over)
    } else {
      lose(over, to, isKept: isKept, change.time)
    }
  }

  private mutating func exchange(
    _ one: InodeNumber, _ place: InodeName, _ other: InodeNumber, _ otherPlace: InodeName,
    _ seen: (Epoch?, Epoch?), _ change: Change
  ) {
    guard one != other, nodes.contains(one), nodes.contains(other) else { return }
    put(other, at: place, over: one, seen: seen.0, change)
    put(one, at: otherPlace, over: other, seen: seen.1, change)
    move(one, place, otherPlace, change.time)
    move(other, otherPlace, place, change.time)
  }

  private mutating func move(
    _ number: InodeNumber, _ from: InodeName, _ to: InodeName, _ time: Attributes.Time
  ) {
    let stamp = stamp
    _ = nodes.change(number) { $0.move(from, to, time, stamp) }
    list(number)
  }

  private mutating func link(
    _ number: InodeNumber, at place: InodeName, _ id: [UInt8], _ seen: Epoch?, _ change: Change
  ) {
    guard nodes.contains(number) else { return }
    nodes[number]?.gain(place, id, change.time, stamp)
    list(number)
    put(number, at: place, over: nil, seen: seen, change)
  }

  /// A program that saw no other file there removes or moves a name, so files that heads detached from it are gone.
  /// Those with a save that is in no version are not.
  private mutating func giveAway(_ place: InodeName) {
    guard !orphans.isEmpty else { return }
    let path = path(of: place.directory)?.appending(place.name)
    for orphan in orphans {
      guard case .detached(let name, let above, _)? = nodes[orphan]?.orphan,
        name == place || above != nil && above == path, nodes[orphan]?.file?.saved == nil
      else { continue }
      nodes[orphan]?.orphan = .gone
    }
  }

  /// The last handle of an orphan was closed: forgets it unless saved bytes belong to a name. Takes no stamp,
  /// because the journal need not have it and stamps tell what a cut took.
  private mutating func release(_ number: InodeNumber) {
    guard orphans.contains(number) else { return }
    if nodes[number]?.orphan == .gone || !(nodes[number]?.isPending ?? false) { forget(number) }
  }

  private mutating func alter(
    _ number: InodeNumber, _ flags: Change.WriteFlags, _ seen: Epoch?, _ time: Attributes.Time,
    _ body: (inout FileContent) -> Void
  ) {
    let stamp = stamp
    let isFile = nodes.change(number) { $0.alter(flags, seen, time, stamp, body) } ?? false
    if isFile { list(number) }
  }

  mutating func save(_ number: InodeNumber, _ time: Attributes.Time, isFirm: Bool) {
    let (stamp, settle) = (stamp, settle)
    let isNew =
      nodes.change(number) { $0.save(time, stamp, isFirm: isFirm, settle: settle) } ?? false
    if isNew { list(number) }
  }

  private mutating func set(
    _ attributes: Attributes, of number: InodeNumber, _ time: Attributes.Time, setsTime: Bool
  ) {
    guard nodes[number]?.set(attributes, time, stamp, setsTime: setsTime) != nil else { return }
    list(number)
  }
}
