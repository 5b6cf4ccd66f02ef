import Inodes
import LLVSCore
import Platform
import TreeNames

@testable import WorkingTree

extension RecordedTree {
  /// Compares all rows with the tree of a map and with each other; returns the faults as sentences.
  func faults(comparedWith view: TreeView) throws(StoreError) -> [String] {
    try read { try TreeCheck.faults(of: $0, comparedWith: view) }
  }
}

extension TreeSession {
  /// A sentence about what is not as it must be between two changes; nil where all is well: the rows are the head's,
  /// and what is pending is consistent over them.
  func fault() throws -> String? {
    let head = try store.state().head.flatMap { try store.version($0) }
    let view = TreeView(map: store.map(head?.map ?? .empty))
    if let fault = try recorded.faults(comparedWith: view).first { return "\(fault)" }
    do {
      try files.pending.check(over: recorded)
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// True while a version is being made.
  var isMakingVersion: Bool { files.state { $0.frozen != nil } }

  /// Has the first pending change be a minute old.
  func letPendingAge() {
    files.state { $0.activity.first = SystemClock.monotonic() - 60_000_000_000 }
  }

  /// The number of files without a name of which something is kept.
  var orphanCount: Int {
    files.state { state in
      state.overlay.orphans.count { number in
        if case .detached? = state.overlay.nodes[number]?.orphan { true } else { false }
      }
    }
  }

  /// Changes the mtime that is shown of a file.
  func setTime(_ time: Attributes.Time, of inode: UInt64) {
    files.state { $0.overlay.nodes[InodeNumber(inode)]?.attributes.mtime = time }
  }

  /// Begins the journal anew.
  func beginJournalAnew() throws { _ = try files.renewJournal(isForced: true) }

  /// True if a save that had no quiet is kept of a file, and none that counts.
  func keepsUncountedSave(of inode: UInt64) -> Bool {
    let file = files.state { $0.overlay.nodes[InodeNumber(inode)]?.file }
    return file?.counted == nil && file?.saved != nil
  }

  /// The bytes of the journal file up to the next record.
  var journalEnd: UInt64 { journal.state.withLock { $0.file.end } }

  /// True if nothing is kept in memory but what is always there.
  var isForgotten: Bool {
    files.state { state in
      state.known.count == 1 && state.overlay.orphans.isEmpty && state.overlay.changes.isEmpty
    }
  }
}
