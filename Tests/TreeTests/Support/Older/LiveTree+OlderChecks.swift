import Inodes
import LLVSCore
import Platform

@testable import MountedTree

extension LiveTree {
  /// True while a version is being made.
  var isMakingVersion: Bool { lock.withLock { _ in isPlanning } }

  /// The number of files without a name of which something is kept.
  var orphanCount: Int { lock.withLock { _ in detachedNodes.count } }

  /// True if nothing is kept in memory but what is always there.
  var isForgotten: Bool { nodeCount == 1 }

  /// Has the first pending change be a minute old.
  func letPendingAge() {
    lock.withLock { _ in
      firstPending = SystemClock.monotonic() - LiveTree.abandonedNanoseconds
    }
  }

  /// Changes the mtime that is shown of a file.
  func setTime(_ time: Attributes.Time, of inode: UInt64) {
    lock.withLock { _ in nodes[inode]?.attributes.mtime = time }
  }

  /// Begins the journal anew.
  func beginJournalAnew() throws { try renewJournal() }

  /// True if a save that had no quiet is kept of a file, and none that counts.
  func keepsUncountedSave(of inode: UInt64) -> Bool {
    lock.withLock { _ in nodes[inode]?.file?.counted == nil && nodes[inode]?.file?.saved != nil }
  }
}
