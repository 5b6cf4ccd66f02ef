package import Inodes
package import LLVSCore
import Platform
import TreeNames

/// The place where a working tree is kept, and what it is opened with.
package struct TreePlace: Sendable {
  /// The file of the recorded tree's rows.
  package var rows: String
  /// The journal's directory.
  package var journal: String
  /// The id of this run of the kernel; empty where nobody knows.
  package var bootID: [UInt8]
  /// The owner and the modes that are shown where none is recorded.
  package var defaults: AttributeDefaults
  /// The time at which a version came to the store; for nil that at which the store was made.
  package var time: @Sendable (VersionNumber?) -> Attributes.Time

  package init(
    rows: String, journal: String, bootID: [UInt8], defaults: AttributeDefaults,
    time: @escaping @Sendable (VersionNumber?) -> Attributes.Time
  ) {
    self.rows = rows
    self.journal = journal
    self.bootID = bootID
    self.defaults = defaults
    self.time = time
  }
}

/// A working tree that was opened, whatever state a kill or a power failure left its files in.
package struct OpenedWorkingTree: Sendable {
  /// The tree.
  package var tree: WorkingTree
  /// The recorded tree below it.
  package var recorded: RecordedTree
  /// The journal, which takes records.
  package var journal: Journal
  /// The losses, and what was made again, in words.
  package var losses: [String]
  /// The reason that the tree takes no changes yet, in words: the disk is full. Nil as a rule.
  package var obstacle: String?

  /// Opens the tree of a store, which the caller has opened for writing.
  ///
  /// A cut that the store has and that was not shown is shown now: its record in the journal says what it took. Rows
  /// that are missing, damaged or of another store are made again from the head's map, with the inode numbers that the
  /// journal knows.
  ///
  /// - Parameters:
  ///   - place: where the tree is kept.
  ///   - store: the store.
  ///   - report: is told later what the disk does, in words.
  /// - Returns: the tree, which takes changes unless the disk is full.
  /// - Throws: ``StoreError`` if the journal or the head's map cannot be read, or nothing can be written.
  /// - Complexity: O(*p* + *k* log *n*) for *p* pending changes and rows that differ from the head in *k* of *n*
  ///   names; O(*n*) for rows that are made again.
  package static func open(
    _ place: TreePlace, of store: Store, report: @escaping @Sendable (String) -> Void
  ) throws(StoreError) -> OpenedWorkingTree {
    var opened = try Journal.open(
      place.journal, owner: JournalOwner(storeID: store.storeID, bootID: place.bootID),
      lastCut: try StoreCut.last(in: store), report: report)
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
      }, numbers: StoreNumbers(store), defaults: place.defaults,
      syncRows: { () throws(StoreError) in
        try StoreError.wrappingBase { () throws(BaseError) in try recorded.syncLog() }
      })
    var result = OpenedWorkingTree(
      tree: tree, recorded: recovery.recorded, journal: opened.journal, losses: recovery.losses)
    do throws(StoreError) {
      try result.beginJournal(isReplayedAlike: opened.isReplayedAlike && !recovery.hasOtherHead)
    } catch {
      // A full disk does not keep a tree from being read.
      guard error.isNoSpace else { throw error }
      result.obstacle = "the mount is read-only until the disk accepts writes again: \(error)"
    }
    return result
  }

  /// Begins the journal again. On a full disk it gives back what the journal does not need, or goes on with the
  /// journal as it is.
  private mutating func beginJournal(isReplayedAlike: Bool) throws(StoreError) {
    do throws(StoreError) { return try renewJournal() } catch {
      guard error.isNoSpace, isReplayedAlike else { throw error }
    }
    if try journal.punchUnbegun(tree.liveBytes) {
      do throws(StoreError) { return try renewJournal() } catch {
        guard error.isNoSpace else { throw error }
      }
    }
    // Names can be removed, which makes room.
    try journal.goOn()
  }

  private mutating func renewJournal() throws(StoreError) {
    do throws(FSError) { losses += try tree.renewJournal(isForced: true) } catch {
      throw StoreError(error)
    }
  }
}

extension OpenedJournal {
  /// True if opening the journal again comes to the same pending changes, and needs no other bytes.
  var isReplayedAlike: Bool {
    unsettled == nil && !recovery.hasOldFormat && recovery.losses.isEmpty
  }
}
