import Events
import LLVSCore
package import Platform
import TreeNames

/// Brings what is pending to the disk at least every five seconds: docs/writes.md, rule 6.
///
/// Beside ``Autosaver``, not in it: a version may take long to be made, and what is written meanwhile is not
/// to wait for that.
///
/// - Concurrency: a thread of its own.
package final class PendingSync: Sendable {
  /// How long what was written may be away from the disk.
  private static let interval: UInt64 = 5_000_000_000

  private let tree: LiveTree
  private let thread = ServiceThread()

  /// Prepares a thread for a live tree.
  package init(_ tree: LiveTree) { self.tree = tree }

  /// Starts the thread.
  ///
  /// - Throws: EAGAIN when there are too many threads.
  package func start() throws(SystemError) {
    try thread.start { [self] in run() }
  }

  /// Ends the thread and waits until it has.
  package func stop() { thread.end() }

  /// Something has become pending.
  package func wake() { thread.wake() }

  private func run() {
    while thread.sleep(isDue ? 0 : nil, wakes: true), thread.sleep(Self.interval, wakes: false) {
      sync()
    }
  }

  /// Whether there is something to do without anything new; a sync that has failed is tried again.
  private var isDue: Bool {
    tree.hasPending || tree.journal.hasUnsynced || tree.refusalReason != nil
  }

  private func sync() {
    if tree.journal.isDueForRenewal() {
      // Half of it, else it would be written for little.
      _ = tree.renewJournal(toFree: tree.journal.generationEnd.end / 2)
    }
    do throws(FSError) {
      try tree.sync()
    } catch {
      // Told once: until it is over, the journal's own line in status says so.
      tree.damage.tell("pending changes could not be written to the disk: \(error)")
    }
  }
}

extension LiveTree {
  /// Whether anything is in no version yet.
  var hasPending: Bool { lock.withLock { _ in firstPending != nil } }
}
