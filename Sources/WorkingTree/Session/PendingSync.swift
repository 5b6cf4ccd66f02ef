import Events
import LLVSCore
package import Platform
import TreeNames

/// Brings what is pending to the disk at least every five seconds: docs/writes.md, rule 6.
///
/// A thread of its own and not the one that makes versions: a version may take long, and what is written
/// in the meantime is not to wait for that.
///
/// - Concurrency: a thread of its own.
package final class PendingSync: Sendable {
  /// The longest time in which what was written may be away from the disk, in nanoseconds.
  private static let interval: UInt64 = 5_000_000_000

  private let tree: TreeSession
  private let thread = ServiceThread()

  /// Prepares a thread for a tree.
  package init(_ tree: TreeSession) { self.tree = tree }

  /// Starts the thread.
  ///
  /// - Throws: EAGAIN when there are too many threads.
  package func start() throws(SystemError) { try thread.start { [self] in run() } }

  /// Ends the thread and waits until it has.
  package func stop() { thread.end() }

  /// Something has become pending.
  package func wake() { thread.wake() }

  private func run() {
    while thread.sleep(isDue ? 0 : nil, wakes: true), thread.sleep(Self.interval, wakes: false) {
      sync()
    }
  }

  /// True if there is something to do without anything new; a sync that has failed is tried again.
  private var isDue: Bool {
    tree.files.hasPending || tree.journal.hasUnsynced || tree.refusal != nil
  }

  private func sync() {
    do throws(FSError) {
      if tree.journal.needsRenewal(atRest: false) {
        // The numbers that the journal alone knows have to be on the disk before.
        tree.recorded.emptyLog()
        for loss in try tree.files.renewJournal() { tree.damage.say(loss) }
      }
      try tree.files.sync()
    } catch {
      // Told once: until it is over, the journal's own line in status says so.
      tree.damage.tell("pending changes could not be written to the disk: \(error)")
    }
  }
}
