import Inodes
import LLVSCore
import Platform
import TreeNames

// INVARIANT I1: after each publication the recorded tree equals what the head's map shows.
// INVARIANT I10: the rows change by the preparation of a head alone, whose transaction sets the cut's number; the
//   store's commit of that cut comes before that of the rows.

/// Shows new heads: prepares rows, which no reader sees yet, then applies the pending changes to them.
// Unchecked: only the holder of the versioner's turn uses it.
final class Checkout: @unchecked Sendable {
  struct Head {
    /// The journal's record of the cut that leads to it.
    var record: TakingRecord
    var frozen: Overlay
    var before: VersionNumber?
    var version: VersionRecord?
    /// True if the head is no descendant of what the tree showed.
    var leavesHistory = false
    var kept: [TreePath] = []
  }

  struct Publication {
    var before: Overlay
    var after: Overlay
    /// The new numbers of the head's files and directories, for those that got others.
    var renumbered: [(old: InodeNumber, new: InodeNumber)]
  }

  let store: Store
  let recorded: RecordedTree
  let tree: WorkingTree
  let journal: Journal
  private let numbers: NumberSource

  init(store: Store, recorded: RecordedTree, tree: WorkingTree, journal: Journal) {
    self.store = store
    self.recorded = recorded
    self.tree = tree
    self.journal = journal
    numbers = NumberSource(of: store)
  }

  /// Makes the rows of a head, invisible before ``publish(_:_:)``, and returns the changed names. `uncommitted`
  /// returns the time of a version that the store has not committed; `view` also returns uncommitted trees.
  /// - Throws: ``StoreError``; then the rows are unchanged.
  func prepare(
    _ head: Head, uncommitted: (VersionNumber) -> Attributes.Time? = { _ in nil },
    _ view: @escaping (VersionNumber?) throws(StoreError) -> TreeView
  ) throws(StoreError) -> HeadDifference {
    let shown = TreeView(map: store.map(recorded.state.root))
    let next = try view(head.version?.number)
    var hints = try CutHints(
      record: head.record, frozen: head.frozen, before: head.before, view: view
    ).found()
    let pending = tree.pending
    hints.cookies = { directory in
      Dictionary(uniqueKeysWithValues: pending.cookies(of: directory).map { ($0.key, $0.value) })
    }
    var difference = HeadDifference()
    if head.record.isForeign {
      try hints.addDirectories(of: pending, over: recorded)
      difference = try HeadDifference(from: shown, to: next, over: recorded)
      try difference.findForeign(
        since: head.record.groups.isEmpty ? nil : hints.own, after: next, hints,
        frozen: head.frozen, over: recorded)
    }
    difference.changedNames = try recorded.prepare(
      TreeHead(
        cut: Int64(head.record.cut), version: head.version?.id, view: next,
        root: head.record.taken.nodes[.root].map { RootAttributes.lasting($0.attributes) }),
      from: shown, hints: hints, numbers: numbers, now: .now, uncommitted: uncommitted)
    if let own = hints.own {
      try difference.addReplaced(
        taken(by: head), own: own, after: next, over: recorded, recorded.prepared)
    }
    return difference
  }

  /// The files whose bytes or attributes a cut took, with their names and paths at its instant.
  private func taken(
    by head: Head
  ) -> [(names: [InodeName], paths: [TreePath], number: InodeNumber)] {
    head.record.taken.nodes.keys.sorted().compactMap { number in
      guard let node = head.frozen.nodes[number], !node.isDirectory else { return nil }
      let places = node.names.compactMap { name in
        head.frozen.path(of: name.directory).map { (name, $0.appending(name.name)) }
      }
      return (places.map(\.0), places.map(\.1), number)
    }
  }

  /// Shows the prepared rows and what is pending over them; ends the cut in the journal.
  /// - Throws: ``StoreError``; then the tree is unchanged and the rows must be prepared again.
  func publish(_ head: Head, _ difference: HeadDifference) throws(StoreError) -> Publication {
    let record = head.record
    var renumbered: [(old: InodeNumber, new: InodeNumber)] = []
    // Read here, because programs wait while the tree follows the head.
    let settled = try self.settled(by: head)
    let pending = try tree.publish(forgetsReaders: head.leavesHistory) {
      pending, willShow throws(StoreError) in
      var new = try follow(head, settled, difference, pending, &renumbered)
      let removed = try self.removed(by: difference, pending, new)
      let epochs = record.epochs(after: pending.epoch, head: head.version?.number)
      let seen = willShow()
      let replaced =
        head.record.isForeign
        ? try replaced(by: head, difference, from: pending, to: new, seen) : []
      forgetSharedMemory(besides: replaced, in: &new)
      let found = try difference.found(besides: seen.lost, over: recorded.prepared, new)
      try recorded.publish()
      journal.settle(
        record.cut, isCommitted: true, epochs: epochs, OverlayEdits(from: pending, to: new))
      var shown = ShownHead(overlay: new, epochs: epochs, replaced: replaced, removed: removed)
      shown.isNoticed = head.record.isForeign || !renumbered.isEmpty
      if head.record.isForeign { (shown.lost, shown.found) = (difference.lost, found) }
      return shown
    }
    recorded.shortenLog()
    return Publication(before: pending.before, after: pending.after, renumbered: renumbered)
  }

  /// Returns what programs see of a published head.
  /// - Throws: ``StoreError`` if the rows cannot be read.
  func changes(
    of head: Head, _ difference: HeadDifference, _ publication: Publication
  ) throws(StoreError) -> HeadChanges {
    var changes = HeadChanges(emptiedBetween: publication.before, publication.after)
    guard head.record.isForeign || !publication.renumbered.isEmpty else { return changes }
    let found = try difference.changes(publication, over: recorded)
    guard !head.record.isForeign else { return found }
    changes.notices += found.notices
    return changes
  }

  /// Gives the head's directories the numbers of directories of the same names that programs made since the rows
  /// were prepared: directories of one name are one.
  private func takeDirectories(of overlay: Overlay) throws(StoreError) {
    let rows = recorded.prepared
    var made: [(stamp: ChangeStamp, place: InodeName, number: InodeNumber)] = []
    for place in overlay.sinceCut.allPlaces + places(inIgnored: overlay) {
      guard let change = overlay.changes[place], change.isDirectory, let number = change.inode,
        try rows.inode(number) == nil
      else { continue }
      made.append((change.stamp, place, number))
    }
    // A directory in another was made after that.
    for (_, place, number) in made.sorted(by: { $0.stamp < $1.stamp }) {
      guard let there = try rows.child(of: place.directory, named: place.name)?.inode,
        there.record.isDirectory, !overlay.nodes.contains(there.number)
      else { continue }
      try recorded.renumber(there.number, to: number)
    }
  }

  /// The names in ignored directories that the prepared rows have, and in directories there.
  private func places(inIgnored overlay: Overlay) -> [InodeName] {
    guard !overlay.ignoredDirectories.isEmpty else { return [] }
    let changed = recorded.changedNumbers ?? Set(overlay.ignoredDirectories)
    var open = changed.filter(overlay.ignoredDirectories.contains)
    var places: [InodeName] = []
    while let directory = open.popFirst() {
      for name in overlay.changedNames(of: directory) {
        let place = InodeName(directory: directory, name: name)
        places.append(place)
        guard let change = overlay.changes[place], change.isDirectory else { continue }
        if let number = change.inode { open.insert(number) }
      }
    }
    return places
  }

  /// The files that a cut took and that the prepared rows have at the same names.
  private func settled(by head: Head) throws(StoreError) -> Set<InodeNumber> {
    var settled: Set<InodeNumber> = []
    for number in head.record.taken.nodes.keys {
      guard let names = head.frozen.nodes.fileNames(of: number), names.count == 1,
        try recorded.has(number, onlyAt: names[0])
      else { continue }
      settled.insert(number)
    }
    return settled
  }

  /// The rows that the prepared head changes; nil for any. `settled` are files at names that the cut took.
  private func changedRows(
    of head: Head, _ settled: Set<InodeNumber>
  ) throws(StoreError) -> ChangedRows? {
    guard let numbers = recorded.changedNumbers else { return nil }
    let rows = recorded.prepared
    var changed = ChangedRows(numbers: numbers)
    for number in numbers {
      if settled.contains(number), try recorded.inode(number) == nil {
        changed.names.formUnion(head.frozen.nodes.fileNames(of: number) ?? [])
      } else {
        changed.names.formUnion(try recorded.names(of: number))
        changed.names.formUnion(try rows.names(of: number))
      }
    }
    return changed
  }

  /// Renumbers a directory that was removed here and that the head has with content of others, because the kernel
  /// makes no names in a removed directory.
  private func separateRemoved(
    _ head: Head, _ pending: Overlay
  ) throws(StoreError) -> [(old: InodeNumber, new: InodeNumber)] {
    var renumbered: [(old: InodeNumber, new: InodeNumber)] = []
    for number in tree.removedDirectories.sorted() {
      guard let place = try recorded.prepared.names(of: number).first else { continue }
      let taken = head.record.taken
      // A later removal still hides the name.
      if let change = pending.changes[place],
        taken.names[place] == nil || change.stamp > taken.stamp
      {
        continue
      }
      if let new = try recorded.renumber(number) { renumbered.append((number, new)) }
    }
    return renumbered
  }

  /// The directories that a head removes and the kernel knows, as they were last.
  private func removed(
    by difference: HeadDifference, _ pending: Overlay, _ new: Overlay
  ) throws(StoreError) -> [InodeNumber: PendingNode] {
    var removed: [InodeNumber: PendingNode] = [:]
    // Directories that a program removed are known already.
    var gone = difference.removed
    new.nodes.forEachDifference(from: pending.nodes) { number, old, _ in
      if let old, old.isDirectory { gone.append((number, old)) }
    }
    for (number, node) in gone {
      guard number != .root, tree.isHeld(number), new.nodes[number]?.place == nil,
        try recorded.prepared.inode(number) == nil
      else { continue }
      removed[number] = node
    }
    return removed
  }

  /// Makes what leaves the head and stays in the tree pending, and returns its names.
  private func keep(
    _ head: Head, _ difference: HeadDifference, in overlay: inout Overlay
  ) throws(StoreError) -> [InodeName] {
    var places: [InodeName] = []
    for name in difference.names where head.kept.contains(where: { name.path.isAtOrBelow($0) }) {
      guard name.after == nil, let place = name.place, let number = name.inode,
        overlay.changes[place] == nil
      else { continue }
      for binding in try overlay.bindings(of: [number], over: recorded) {
        overlay.apply(Change(time: .now, binding))
      }
      var change = NameChange(inode: number, stamp: overlay.stamp, hidesRecorded: false)
      change.isDirectory = name.before == .directory
      overlay.setChange(change, at: place)
      places.append(place)
    }
    return places
  }

  private func follow(
    _ head: Head, _ settled: Set<InodeNumber>, _ difference: HeadDifference, _ pending: Overlay,
    _ renumbered: inout [(old: InodeNumber, new: InodeNumber)]
  ) throws(StoreError) -> Overlay {
    var overlay = pending
    let now = Attributes.Time.now
    try takeDirectories(of: overlay)
    renumbered += try separateRemoved(head, pending)
    // Files without a name stay for the processes that hold them.
    for number in difference.left where tree.isHeld(number) {
      guard !overlay.nodes.contains(number) else { continue }
      let bindings = try overlay.bindings(of: [number], over: recorded)
      for binding in bindings { overlay.apply(Change(time: now, binding)) }
    }
    let kept = try keep(head, difference, in: &overlay)
    let given = Monitor<[(old: InodeNumber, new: InodeNumber)]>([])
    try recorded.changing {
      var new = NewHead(
        base: recorded.prepared, taken: head.record.taken, epoch: head.record.epoch,
        isHeld: { self.tree.isHeld($0) }, isOpen: { self.tree.isOpen($0) },
        renumber: { (number) throws(StoreError) in
          guard let new = try self.recorded.renumber(number) else { return }
          given.withLock { $0.append((number, new)) }
        },
        extendedBefore: { (number) throws(StoreError) in
          try self.recorded.extended(of: number, in: self.store)
        })
      let patterns = { (overlay: Overlay, base: any Base) in
        IgnoreRules(self.tree.ignore, in: FrozenTree(overlay, over: base)) { content in
          TreeContents(self.store, self.journal).text(of: content, atMost: IgnoreScope.fileLimit)
        }
      }
      let before = patterns(pending, recorded)
      new.isScratch = { (place) throws(StoreError) in try before.ignores(place) }
      new.patterns = { overlay, base in patterns(overlay, base).ignores }
      new.settled = settled
      let changesPatterns =
        difference.changesPatterns
        || head.record.taken.names.keys.contains { $0.name.bytes == IgnoreScope.fileName }
      new.rows = changesPatterns ? nil : try changedRows(of: head, settled)
      (new.changed, new.frozen) = (difference.changedPaths, head.frozen)
      try overlay.follow(new)
      try recorded.keepShownTimes(of: pending, besides: overlay, head.record.taken)
      renumbered += given.withLock { $0 }
    }
    // They are no changes of the version that had them.
    for place in kept {
      guard var change = overlay.changes[place] else { continue }
      change.on = nil
      overlay.setChange(change, at: place)
    }
    return overlay
  }
}

extension RecordedTree {
  /// Writes the shown times of directories to the rows, and the ctimes of files without pending changes, because a
  /// mode set to the same value moved them. The rows have the times of files that a cut took.
  func keepShownTimes(
    of before: Overlay, besides after: Overlay, _ taken: TakenCut?
  ) throws(StoreError) {
    try after.nodes.forEachDifference(from: before.nodes) {
      (number, old, new) throws(StoreError) in
      guard let node = old else { return }
      if node.isDirectory {
        return try changeTimes(of: number) { $0.show(node.times(over: $0)) }
      }
      guard new == nil else { return }
      if let taken, node.stamp <= taken.stamp, taken.nodes[number] != nil { return }
      try changeTimes(of: number) { $0.changed = max($0.changed, node.changed) }
    }
  }

  /// Returns all extended attributes that the head has of an inode whose rows lack some; else nil.
  /// - Throws: ``StoreError`` if the rows or the map cannot be read.
  func extended(of number: InodeNumber, in store: Store) throws(StoreError) -> [Attributes
    .Extended]?
  {
    guard let inode = try inode(number), inode.record.lacksExtended else { return nil }
    let path = try path(of: number)
    return switch try TreeView(map: store.map(state.root)).find(path: path.bytes) {
    case .value(let entry)?, .directory(let entry?)?: entry.attributes.extended
    case .directory(nil)?, nil: nil
    }
  }
}
