import Inodes
package import LLVSCore
import TreeNames

/// Turns the pending changes at the instant of a cut into changes of paths, which versions take.
///
/// RULE C1: A change is at its path in the frozen tree; nothing below a directory removed here is taken.
/// RULE C2: Of a file the save that counts (``SaveChoice``) is taken.
/// RULE C3: A file without such a save leaves its name to the recorded file, wherever that has gone; only a
///   directory that moved from there is gone.
/// RULE C4: A name is ignored and stays pending if a pattern fits, the recorded tree lacks it, and it is no
///   directory that the recorded tree has elsewhere.
/// RULE C5: A change is made on the map that its writer saw, and merged, so concurrent changes of others stay.
/// RULE C6: It is made on the head if both show the same where it changes something.
/// RULE C7: The parts of a move, and changes where it began or below a directory whose name is pending on an older
///   version, are made on one version.
/// RULE C8: Orphans of one path each get a version.
/// RULE C9: A removal never takes the directory that it is in: one without an entry gets one.
/// RULE C10: A name keeps the key that the version shows there; a new one has the key of its path. Keys below a
///   moved directory change their beginning.
/// RULE C11: Equal bytes and attributes are no change. A directory's recorded mtime goes when its names change. All
///   names of one link id have one entry.
/// RULE C12: A change made on a version that is no ancestor of the head goes into the line of that version.
/// RULE C13: What cannot be read is left out and named.
package struct Recorder {
  let tree: FrozenTree
  let saves: SaveChoice
  private let ignored: IgnoreRules
  private(set) var recording = Recording()
  /// Files whose bytes are put at their one name.
  private var done: Set<InodeNumber> = []
  /// The same for files of several names.
  private var doneLinks: Set<Put> = []

  private struct Put: Hashable {
    var number: InodeNumber
    var place: InodeName
  }

  package init(_ tree: FrozenTree, saves: SaveChoice, ignored: IgnoreRules) {
    self.tree = tree
    self.saves = saves
    self.ignored = ignored
  }

  /// Returns the changes of paths.
  /// - Throws: ``StoreError`` if the recorded tree cannot be read.
  /// - Complexity: O(*m* log *n*) for *m* changes since the last cut, and those that it left.
  package mutating func record() throws(StoreError) -> Recording {
    let listed = listed(tree.overlay.listedInCut())
    for place in listed.places {
      if let change = tree.overlay.changes[place] { try add(change, at: place) }
    }
    var (orphans, held): ([InodeNumber], [InodeNumber]) = ([], [])
    for number in listed.inodes {
      guard let node = tree.overlay.nodes.node(number) else { continue }
      try addContent(of: node, number)
      if node.orphan != nil { orphans.append(number) }
      if node.isDirectory { held.append(number) }
    }
    try addOrphans(orphans)
    for number in held {
      if let node = tree.overlay.nodes.node(number) { try addAttributes(ofHeld: node, number) }
    }
    return recording
  }

  /// The parts of a list that are pending.
  private struct Listed {
    var inodes: [InodeNumber] = []
    var places: [InodeName] = []
  }

  /// Returns the listed inodes in order, and the changed names of the list and of its inodes in the order of their
  /// changes: bytes go where their names do, even ignored ones.
  private func listed(_ list: PendingList) -> Listed {
    var listed = Listed()
    var places: [InodeName] = []
    // Stamps and indices are sorted instead of names, because each move of a name counts references.
    var order: [(stamp: ChangeStamp, index: Int)] = []
    func note(_ place: InodeName) {
      guard let stamp = tree.overlay.changes[place]?.stamp else { return }
      order.append((stamp, places.count))
      places.append(place)
    }
    for place in list.allPlaces { note(place) }
    for number in list.allInodes {
      guard let names = tree.overlay.nodes.names(of: number) else { continue }
      listed.inodes.append(number)
      for place in names {
        // A newer change is listed by its place.
        if let change = tree.overlay.changes[place],
          tree.overlay.isListed(change, at: place, since: list.first)
        {
          continue
        }
        note(place)
      }
    }
    listed.inodes.sort()
    order.sort { a, b in
      if a.stamp != b.stamp { return a.stamp < b.stamp }
      let (a, b) = (places[a.index], places[b.index])
      return (a.directory, a.name) < (b.directory, b.name)
    }
    listed.places.reserveCapacity(order.count)
    for (_, index) in order where listed.places.last != places[index] {
      listed.places.append(places[index])
    }
    return listed
  }

  private mutating func add(_ change: NameChange, at place: InodeName) throws(StoreError) {
    guard let above = try tree.path(of: place.directory) else {
      recording.nothing[place] = change.inode != nil
      return
    }
    let path = above.appending(place.name)
    let over = try tree.recorded(at: place)?.inode
    if change.inode == over?.number {
      recording.nothing[place] = change.inode != nil
      return
    }
    guard let number = change.inode, let node = tree.overlay.nodes.node(number) else {
      recording.exclude(place)
      recording.nothing[place] = false
      return try remove(path, change.on, at: place)
    }
    if over == nil, !change.isHeld, try ignored.ignores(place) {
      recording.ignored.insert(place)
      return
    }
    if node.isDirectory {
      try addDirectory(node, number, change, at: place, path, over: over)
    } else {
      try addFile(node, number, change, at: place, path, over: over)
    }
  }

  private mutating func remove(
    _ path: TreePath, _ epoch: Epoch?, at place: InodeName
  ) throws(StoreError) {
    let isInPlace = try tree.recordedPath(of: place.directory) == path.parent
    recording.edits.append(PathEdit(isInPlace ? .remove : .leaveOut, path, epoch, place: place))
  }

  private mutating func addDirectory(
    _ node: PendingNode, _ number: InodeNumber, _ change: NameChange, at place: InodeName,
    _ path: TreePath, over: BaseInode?
  ) throws(StoreError) {
    recording.exclude(place)
    // A held directory exists only for its content.
    if change.isHeld {
      if try !hasContent(number, besidesIgnored: over != nil) { recording.emptied.insert(place) }
      return
    }
    let source = try tree.isRecordedDirectory(number) ? tree.recordedPath(of: number) : nil
    let edit = PathEdit(
      source == nil ? .make : .move, path, change.on, place: place, number: number, node: node)
    if let source { edit.source = source }
    add(edit, over: over)
  }

  /// True if a held directory has pending names; ignored ones do not count where it hides something of the head.
  private func hasContent(
    _ directory: InodeNumber, besidesIgnored: Bool
  ) throws(StoreError) -> Bool {
    for name in tree.overlay.changedNames(of: directory) {
      let place = InodeName(directory: directory, name: name)
      guard let change = tree.overlay.changes[place], let number = change.inode else { continue }
      guard besidesIgnored, !change.hidesRecorded else { return true }
      if change.isHeld {
        if try hasContent(number, besidesIgnored: true) { return true }
      } else if try !ignored.ignores(place) {
        return true
      }
    }
    return false
  }

  private mutating func add(_ edit: PathEdit, over: BaseInode?) {
    edit.over = over?.number
    edit.isOverDirectory = over?.record.isDirectory ?? false
    recording.edits.append(edit)
  }

  private mutating func addFile(
    _ node: PendingNode, _ number: InodeNumber, _ change: NameChange, at place: InodeName,
    _ path: TreePath, over: BaseInode?
  ) throws(StoreError) {
    noteUnsaved(node, number, at: path)
    guard let bytes = try bytes(of: node, number) else {
      recording.left.insert(place)
      guard let file = node.file,
        file.isNeverSaved || file.saved != nil || saves.leavesOut(number, file), let over,
        // The log of an older state of a database would damage the new one.
        over.record.isDirectory || FileGroup(companion: Key(bytes: path.bytes)) != nil
      else { return }
      recording.exclude(place)
      return try remove(path, change.on, at: place)
    }
    var epoch = change.on
    if case .save(let save) = bytes { epoch = epoch.older(save.on) }
    recording.exclude(place)
    let edit = PathEdit(.put, path, epoch, place: place, number: number, node: node)
    edit.bytes = bytes
    add(edit, over: over)
    if node.names.count == 1 {
      done.insert(number)
    } else {
      doneLinks.insert(Put(number: number, place: place))
    }
  }

  private mutating func noteUnsaved(_ node: PendingNode, _ number: InodeNumber, at path: TreePath) {
    guard let file = node.file else { return }
    if file.isUnsaved { recording.unsaved.append(path) }
    noteLeftOut(file, number, at: path)
  }

  private mutating func noteLeftOut(_ file: PendingFile, _ number: InodeNumber, at path: TreePath) {
    guard saves.leavesOut(number, file) else { return }
    if saves.forgotten.contains(number) {
      recording.withoutBase.append(path)
    } else {
      recording.unreadable.append(path)
    }
  }

  /// nil if no version takes bytes of the file.
  private func bytes(
    of node: PendingNode, _ number: InodeNumber
  ) throws(StoreError) -> PathEdit.Bytes? {
    guard let file = node.file else { return nil }
    if let save = saves.save(of: number, file) { return .save(save) }
    if file.isNeverSaved { return nil }
    if try tree.recorded(number) != nil { return .recorded }
    return saves.kept(of: number, file).map { .kept($0) }
  }

  private func isDone(_ node: PendingNode, _ number: InodeNumber, _ place: InodeName) -> Bool {
    if node.names.count == 1 { return done.contains(number) }
    return doneLinks.contains(Put(number: number, place: place))
  }

  private mutating func addContent(of node: PendingNode, _ number: InodeNumber) throws(StoreError) {
    guard node.orphan == nil else { return }
    guard let file = node.file else { return try addAttributes(of: node, number) }
    // A new name may record a time that the file's other names do not have yet.
    let isLinked = node.attributes.linkID != nil && node.names.contains { isDone(node, number, $0) }
    guard file.isPending || node.hasNewAttributes || isLinked else { return }
    let hasSave = saves.save(of: number, file) != nil
    for place in node.names where !isDone(node, number, place) {
      guard !recording.left.contains(place), !recording.ignored.contains(place),
        let above = try tree.path(of: place.directory)
      else { continue }
      let path = above.appending(place.name)
      if tree.overlay.changes[place] == nil { noteUnsaved(node, number, at: path) }
      guard hasSave || node.hasNewAttributes || isLinked, let bytes = try bytes(of: node, number)
      else { continue }
      recording.exclude(place)
      var epoch = node.on
      if case .save(let save) = bytes { epoch = save.on }
      let edit = PathEdit(.put, path, epoch, place: place, number: number, node: node)
      edit.bytes = bytes
      try addInPlace(edit, number, at: place)
    }
  }

  /// Adds an edit of an inode under a name; at an unchanged name the recorded tree has that inode.
  private mutating func addInPlace(
    _ edit: PathEdit, _ number: InodeNumber, at place: InodeName
  ) throws(StoreError) {
    if tree.overlay.changes[place] != nil {
      return add(edit, over: try tree.recorded(at: place)?.inode)
    }
    edit.over = number
    edit.isOverDirectory = edit.node?.isDirectory ?? false
    recording.edits.append(edit)
  }

  private mutating func addAttributes(
    of node: PendingNode, _ number: InodeNumber
  ) throws(StoreError) {
    if number == .root, node.hasNewAttributes { recording.root = node }
    guard node.hasNewAttributes, let place = node.place, tree.overlay.changes[place] == nil,
      let path = try tree.path(of: number)
    else { return }
    let edit = PathEdit(.setAttributes, path, node.on, place: place, number: number, node: node)
    try addInPlace(edit, number, at: place)
  }

  /// A held directory is in the version if anything in it is, with its own attributes.
  private mutating func addAttributes(
    ofHeld node: PendingNode, _ number: InodeNumber
  ) throws(StoreError) {
    guard node.isDirectory, node.hasNewAttributes, let place = node.place,
      let change = tree.overlay.changes[place], change.isHeld, let path = try tree.path(of: number)
    else { return }
    let isMade = recording.edits.contains { edit in
      edit.isThere && edit.path != path && edit.path.isAtOrBelow(path)
    }
    guard isMade else { return }
    recording.edits.append(
      PathEdit(.setAttributes, path, change.on, place: place, number: number, node: node))
  }

  private mutating func addOrphans(_ numbers: [InodeNumber]) throws(StoreError) {
    var turns: [TreePath: Int] = [:]
    for number in numbers {
      guard let node = tree.overlay.nodes.node(number),
        case .detached(let place, let known, let epoch)? = node.orphan, let file = node.file
      else { continue }
      var path = known
      if let place { path = try tree.path(of: place.directory)?.appending(place.name) }
      guard let path else { continue }
      if file.isUnsaved { recording.unsavedOrphans.append(path) }
      noteLeftOut(file, number, at: path)
      guard let save = saves.save(of: number, file) else { continue }
      let edit = PathEdit(.put, path, save.on.older(epoch), place: nil, number: number, node: node)
      edit.bytes = .save(save)
      turns[path, default: 0] += 1
      edit.turn = turns[path] ?? 1
      recording.edits.append(edit)
    }
  }
}
