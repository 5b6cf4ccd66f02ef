package import Inodes
package import LLVSCore
package import TreeNames

/// The files of a working tree, and what it is opened with.
package struct TreePlace: Sendable {
  package var rows: String
  package var journal: String
  /// The id of the running kernel; empty if unknown.
  package var bootID: [UInt8]
  /// The owner and modes where none is recorded.
  package var defaults: AttributeDefaults
  package var ignore = IgnorePatterns([])
  /// The time of a version in the store; for nil, of the store's creation.
  package var time: @Sendable (VersionNumber?) -> Attributes.Time
}

/// A working tree opened after any shutdown, kill or power failure.
package struct OpenedWorkingTree: Sendable {
  package var tree: WorkingTree
  package var recorded: RecordedTree
  package var journal: Journal
  /// What was lost or made again, in words.
  package var losses: [String]
  /// The reason that the tree takes no changes yet, which is a full disk; usually nil.
  package var obstacle: String?

  /// Opens the tree of a store that is open for writing; it takes changes unless the disk is full.
  ///
  /// Shows a committed cut that was not shown. Missing, damaged or foreign rows are made again from the head's map
  /// with the journal's inode numbers. `report` is called later with errors of the disk, in words.
  /// - Throws: ``StoreError`` if the journal or the head's map cannot be read, or nothing can be written.
  /// - Complexity: O(*p* + *k* log *n*) for *p* pending changes and rows that differ from the head in *k* of *n*
  ///   names; O(*n*) for rows that are made again.
  package static func open(
    _ place: TreePlace, of store: Store, report: @escaping @Sendable (String) -> Void
  ) throws(StoreError) -> OpenedWorkingTree {
    var opened = try Journal.open(
      place.journal, owner: JournalOwner(storeID: store.storeID, bootID: place.bootID),
      lastCut: try StoreCut.last(in: store),
      rowsCut: try RecordedTree.cut(at: place.rows, of: store.storeID) ?? .max, report: report)
    try NumberRenewal(place: place, store: store).run(&opened)
    var recovery = try TreeRecovery(place, store, opened)
    try recovery.run()
    let recorded = recovery.recorded
    let tree = WorkingTree(
      base: recorded, overlay: recovery.overlay, epochs: recovery.epochs,
      journal: opened.journal, contents: StoreContents(store.contents),
      head: StoredHead(store) {
        let state = recorded.state
        return StoredHead.Shown(version: state.version, root: state.root)
      }, numbers: NumberSource(of: store), defaults: place.defaults,
      ignore: place.ignore,
      syncRows: { () throws(StoreError) in
        try recorded.syncLog()
      })
    var result = OpenedWorkingTree(
      tree: tree, recorded: recovery.recorded, journal: opened.journal, losses: recovery.losses)
    do throws(StoreError) {
      try result.beginJournal(isReplayedAlike: opened.isReplayedAlike && !recovery.hasOtherHead)
    } catch {
      // A tree on a full disk can still be read.
      guard error.isNoSpace else { throw error }
      result.obstacle = "the mount is read-only until the disk accepts writes again: \(error)"
    }
    return result
  }

  /// Begins a new journal. On a full disk it frees what the journal does not need, or keeps the journal.
  private mutating func beginJournal(isReplayedAlike: Bool) throws(StoreError) {
    do throws(StoreError) { return try renewJournal() } catch {
      guard error.isNoSpace, isReplayedAlike else { throw error }
    }
    if try journal.punchUnbegun(tree.liveBytes) {
      do throws(StoreError) { return try renewJournal() } catch {
        guard error.isNoSpace else { throw error }
      }
    }
    // Removing names frees space.
    try journal.goOn()
  }

  private mutating func renewJournal() throws(StoreError) {
    do throws(FSError) { losses += try tree.renewJournal(isForced: true) } catch {
      throw StoreError(error)
    }
  }
}

extension OpenedJournal {
  /// True if opening the journal again gives the same pending changes and needs no other bytes.
  var isReplayedAlike: Bool {
    unsettled == nil && !recovery.hasOldFormat && recovery.losses.isEmpty
  }
}

/// Renews inode numbers before a working tree is opened, while no program knows any; the next mount continues after
/// a kill.
struct NumberRenewal {
  let place: TreePlace
  let store: Store

  /// Raises the store's counter above all numbers in use, which it may be below in a store restored from an older
  /// copy, and keeps enough numbers free.
  /// - Complexity: O(*p*) for *p* pending nodes and changes; O(*n*) once in half of all numbers, when rows are
  ///   remade.
  func run(_ journal: inout OpenedJournal) throws(StoreError) {
    let recorded = try RecordedTree.greatestNumber(at: place.rows, of: store.storeID)
    let greatest = max(recorded ?? .root, journal.greatestNumber ?? .root)
    if greatest >= .renewal { return try renewAll(in: &journal) }
    let free = max(greatest.rawValue + 1, Store.firstInode)
    if store.nextInode < free || store.nextInode >= InodeNumber.renewal.rawValue {
      try store.restartInodes(at: free)
    }
  }

  /// Gives small numbers to all that is pending and removes the rows, whose new numbers follow.
  private func renewAll(in journal: inout OpenedJournal) throws(StoreError) {
    // While either has old numbers, the next mount renews them too.
    try RecordedTree.remove(place.rows)
    try store.restartInodes(at: Store.firstInode)
    try journal.renumber { () throws(StoreError) in InodeNumber(try store.allotInodes()) }
    journal.recovery.losses.append(
      "most inode numbers of the store were used up: all files and directories have new ones")
  }
}
