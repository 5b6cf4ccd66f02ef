import Inodes
import LLVSCore
import Platform
import TreeNames

/// Makes one tree of the store's head, the rows of tree.sqlite and the journal.
struct TreeRecovery {
  private let store: Store
  private let opened: OpenedJournal
  private let numbers: NumberSource
  private let head: VersionRecord?
  private let cut: UInt64
  private let now: Attributes.Time
  private let ignore: IgnorePatterns
  private(set) var recorded: RecordedTree
  private(set) var overlay: Overlay
  private(set) var epochs: [Epoch: UInt32]
  /// What was lost or made again, in words.
  var losses: [String]
  /// True if the journal was written over another version than the head.
  private(set) var hasOtherHead = false
  /// True if the journal was written over these rows.
  private let hasSameRows: Bool
  /// The journal's numbers for a committed cut that the rows may lack.
  private let hints: NumberHints

  init(_ place: TreePlace, _ store: Store, _ opened: OpenedJournal) throws(StoreError) {
    self.store = store
    self.opened = opened
    ignore = place.ignore
    numbers = NumberSource(of: store)
    head = try store.headRecord()
    cut = try StoreCut.last(in: store)
    now = .now
    (overlay, epochs, losses) = (opened.overlay, opened.epochs, opened.recovery.losses)
    let rows = RowsOpening(
      place: place, store: store, opened: opened, numbers: numbers, head: head, cut: cut, now: now)
    let reason: String?
    hints = try rows.hints()
    (recorded, hasSameRows, reason) = try rows.open(hints)
    if let reason { losses.append("\(reason): the recorded tree was made anew from the head") }
  }

  /// Applies pending changes to the head's rows, and ends a committed cut.
  /// - Throws: ``StoreError`` if the rows cannot be read or written.
  mutating func run() throws(StoreError) {
    let record = opened.unsettled
    let before = overlay.epoch
    var epoch = record?.epoch
    let number = head?.number.rawValue ?? 0
    if let record {
      epochs.merge(record.epochs(after: before, head: head?.number)) { $1 }
    } else if epochs.isEmpty {
      epochs[before] = number
    }
    if epochs[epoch ?? before] != number {
      // Another program moved the head, or the journal or the store is an older copy.
      epoch = (epochs.keys.max().map { max($0, before) } ?? before).next
      hasOtherHead = true
    }
    if let epoch { epochs[epoch] = number }
    if hasSameRows, epoch == nil, try isAsBefore() {
      // The tree shows the same as before; no handle holds its orphans any more.
      overlay.dropOrphans()
      overlay.listAll()
      return
    }
    var overlay = overlay
    let changed = epoch == nil ? ChangedPaths() : try changedPaths(since: record)
    try prepare()
    try recorded.changing {
      var new = NewHead(
        base: recorded.prepared, taken: record?.taken, epoch: epoch, isHeld: { _ in false },
        renumber: { [recorded] (number) throws(StoreError) in try recorded.renumber(number) },
        extendedBefore: { [recorded, store] (number) throws(StoreError) in
          try recorded.extended(of: number, in: store)
        })
      let read = { [store, opened] (content: FileContent) in
        TreeContents(store, opened.journal).text(of: content, atMost: IgnoreScope.fileLimit)
      }
      let before = IgnoreRules(
        ignore, in: FrozenTree(overlay, over: recorded), unchanged: try shownBefore(), read: read)
      new.isScratch = { (place) throws(StoreError) in try before.ignores(place) }
      new.patterns = { [ignore] overlay, base in
        IgnoreRules(ignore, in: FrozenTree(overlay, over: base), read: read).ignores
      }
      (new.changed, new.frozen) = (changed, opened.frozen)
      try overlay.follow(new)
      try recorded.keepShownTimes(of: self.overlay, besides: overlay, record?.taken)
    }
    try recorded.publish()
    self.overlay = overlay
    self.overlay.listAll()
  }

  /// The paths at which the head differs from the version that took what programs saw, if the store has that.
  private func changedPaths(since record: TakingRecord?) throws(StoreError) -> ChangedPaths {
    let known = opened.epochs[overlay.epoch].map { $0 == 0 ? nil : VersionNumber($0) }
    guard let number = record?.own.map({ .some($0) }) ?? known else { return ChangedPaths() }
    let before = try store.version(number)
    guard number == nil || before != nil else { return ChangedPaths() }
    var changed = ChangedPaths()
    try hints.forEachForeignPath(
      from: TreeView(map: store.map(of: before)), to: TreeView(map: store.map(of: head))
    ) { (path) throws(StoreError) in changed.insert(path) }
    return changed
  }

  /// The tree that programs saw without what was pending; nil if the journal or the store does not know it.
  private func shownBefore() throws(StoreError) -> TreeView? {
    guard let number = opened.epochs[opened.overlay.epoch] else { return nil }
    guard number != 0 else { return TreeView(map: store.map(.empty)) }
    return try store.version(VersionNumber(number)).map { TreeView(map: store.map(of: $0)) }
  }

  /// True if replay of the journal gave what programs saw before.
  private func isAsBefore() throws(StoreError) -> Bool {
    guard opened.isReplayedAlike, !overlay.isCutting else { return false }
    return try overlay.isSound(over: recorded)
  }

  /// Opens a transaction that may change numbers of the head's rows.
  private func prepare() throws(StoreError) {
    let view = TreeView(map: store.map(of: head))
    try recorded.prepare(
      TreeHead(cut: Int64(cut), version: head?.id, view: view), from: view, numbers: numbers,
      now: now)
  }
}

/// Opens the recorded tree's rows, or makes them again with the journal's numbers.
private struct RowsOpening {
  let place: TreePlace
  let store: Store
  let opened: OpenedJournal
  let numbers: NumberSource
  let head: VersionRecord?
  let cut: UInt64
  let now: Attributes.Time

  /// Returns the head's rows, whether they are the existing ones, and the reason if they were made again.
  func open(
    _ hints: NumberHints
  ) throws(StoreError) -> (tree: RecordedTree, isSame: Bool, reason: String?) {
    let target = try origin(head, cut)
    let first = try isSettled ? target : try origin(beforeCut, cut - 1)
    let exists = try StoreError.translating(try FileSystem.exists(place.rows))
    guard exists else { return (try rebuilt(first, target, hints), false, nil) }
    do throws(StoreError) {
      let tree = try RecordedTree.openPresent(place.rows, target)
      var isSame = true
      if tree.state.cut < first.head.cut {
        isSame = false
        // The disk has the journal's records of cuts but not their rows.
        for cut in opened.settled where tree.state.cut < cut.record.cut {
          let version = try self.version(cut.after)
          let hints = try self.hints(
            cut.record, cut.frozen, before: self.version(cut.before)?.number)
          try tree.advance(to: try origin(version, cut.record.cut), hints: hints)
        }
        try tree.advance(to: first)
        try giveKnownNumbers(to: tree, of: first)
      }
      if try tree.advance(to: target, hints: hints) { isSame = false }
      return (tree, isSame, nil)
    } catch {
      guard case .rebuildable(let reason) = error else { throw error }
      return (try rebuilt(first, target, hints), false, reason)
    }
  }

  /// Makes rows of the journal's version with its numbers, and advances them to the head.
  private func rebuilt(
    _ first: RecordedTree.Origin, _ target: RecordedTree.Origin, _ hints: NumberHints
  ) throws(StoreError) -> RecordedTree {
    let tree = try RecordedTree.rebuild(at: place.rows, for: first)
    try giveKnownNumbers(to: tree, of: first)
    try tree.advance(to: target, hints: hints)
    return tree
  }

  /// Gives rows of the journal's version the numbers that the journal bound to their names.
  private func giveKnownNumbers(
    to tree: RecordedTree, of first: RecordedTree.Origin
  ) throws(StoreError) {
    try tree.prepare(first.head, from: first.head.view, numbers: numbers, now: now)
    try giveKnownNumbers(to: tree)
    try tree.publish()
  }

  /// Directories come before their content. A known number at another name is replaced.
  private func giveKnownNumbers(to tree: RecordedTree) throws(StoreError) {
    let nodes = opened.overlay.nodes
    var done: Set<InodeNumber> = [.root]
    func give(_ number: InodeNumber) throws(StoreError) {
      guard done.insert(number).inserted, let node = nodes[number] else { return }
      for name in node.recordedNames {
        try give(name.directory)
        guard let entry = try tree.prepared.child(of: name.directory, named: name.name),
          entry.inode.record.isDirectory == node.isDirectory, entry.inode.number != number
        else { continue }
        try tree.renumber(number)
        try tree.renumber(entry.inode.number, to: number)
      }
    }
    for (number, _) in nodes.sorted(by: { $0.key < $1.key }) { try give(number) }
  }

  /// False if the journal was written over the version before the head, as far as it and the store know.
  private var isSettled: Bool {
    get throws(StoreError) {
      guard opened.unsettled != nil, knowsBefore else { return true }
      return before == nil ? false : try beforeCut == nil
    }
  }

  private var beforeCut: VersionRecord? {
    get throws(StoreError) {
      try store.version(before)
    }
  }

  /// `number` is 0 before the first version.
  private func version(_ number: UInt32) throws(StoreError) -> VersionRecord? {
    try store.version(number == 0 ? nil : VersionNumber(number))
  }

  /// True if the journal knows which version the tree showed.
  private var knowsBefore: Bool { opened.epochs[opened.overlay.epoch] != nil }

  /// The version that the tree showed when the journal was written; nil before the first one.
  private var before: VersionNumber? {
    opened.epochs[opened.overlay.epoch].flatMap { $0 == 0 ? nil : VersionNumber($0) }
  }

  func hints() throws(StoreError) -> NumberHints {
    guard let record = opened.unsettled, let frozen = opened.frozen else { return NumberHints() }
    return try hints(record, frozen, before: before)
  }

  private func hints(
    _ record: TakingRecord, _ frozen: Overlay, before: VersionNumber?
  ) throws(StoreError) -> NumberHints {
    try CutHints(record: record, frozen: frozen, before: before) { (number) throws(StoreError) in
      TreeView(map: store.map(of: try store.version(number)))
    }.found()
  }

  private func origin(
    _ version: VersionRecord?, _ cut: UInt64
  ) throws(StoreError) -> RecordedTree.Origin {
    RecordedTree.Origin(
      storeID: store.storeID,
      head: TreeHead(
        cut: Int64(cut), version: version?.id,
        view: TreeView(map: store.map(of: version)),
        root: try RootAttributes.stored(in: store)), numbers: numbers,
      map: { (id, root) throws(StoreError) in
        guard let id else { return root == .empty ? store.map(.empty) : nil }
        guard let version = try store.version(id), version.map == root else { return nil }
        return store.map(of: version)
      }, time: place.time, now: now)
  }
}
