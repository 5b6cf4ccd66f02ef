import Events
package import Platform
import TreeNames

/// Syncs pending changes to the disk at least every five seconds (docs/writes.md, rule 6), on a thread of its own
/// because making a version may take long.
package final class PendingSync: Sendable {
  /// The longest time in nanoseconds before writes are synced.
  private static let interval: UInt64 = 5_000_000_000
  private static let step: UInt64 = 500_000_000
  private let tree: TreeSession
  private let thread = ServiceThread()
  package init(_ tree: TreeSession) { self.tree = tree }
  /// - Throws: EAGAIN if the thread limit is reached.
  package func start() throws(SystemError) { try thread.start { [self] in run() } }
  /// Waits until the thread has ended.
  package func stop() { thread.end() }
  /// Called when something becomes pending.
  package func wake() { thread.wake() }

  private func run() {
    var isClean = true
    while thread.sleep(isDue || !isClean ? 0 : nil, wakes: true), pause() { isClean = sync() }
  }

  /// Waits for the interval, or until the journal must be renewed. The system begins to write in the meantime, so that a cut's sync waits for little.
  private func pause() -> Bool {
    for _ in 0..<Self.interval / Self.step {
      guard thread.sleep(Self.step, wakes: false) else { return false }
      if tree.journal.isOverdue { return true }
      tree.journal.startWriteback()
    }
    return true
  }

  /// True if something is unsynced, also after a failed sync.
  private var isDue: Bool {
    tree.files.hasPending || tree.journal.hasUnsynced || tree.refusal != nil
  }

  /// Returns true if nothing is left to do until something becomes pending.
  private func sync() -> Bool {
    do throws(FSError) {
      if tree.journal.needsRenewal(atRest: false) {
        for loss in try tree.files.renewJournal() { tree.damage.say(loss) }
      }
      try tree.files.sync()
      guard try tree.files.collectJournal() else { return false }
      SystemMemory.trim()
    } catch {
      // Logged once; until syncing works again, the journal's line in the status has it.
      tree.damage.tell("pending changes could not be written to the disk: \(error)")
    }
    return true
  }
}
