import Events
import Grammar
import Inodes
import LLVSCore
import Platform
package import TreeNames

extension TreeSession {
  /// The numbers of what is pending, for status.
  package struct Pending: Sendable {
    /// Names with another file, or of which bytes or attributes changed.
    package var changed = 0
    /// New names.
    package var new = 0
    /// Names that went.
    package var removed = 0
    /// The paths of files with bytes that no save covers.
    package var unsaved: [[UInt8]] = []
    /// The names of files that new heads gave to others, and that are saved all the same.
    package var beside: [[UInt8]] = []
    /// The time until the next version, in nanoseconds; nil while nothing is pending.
    package var due: UInt64?
  }

  /// Has somebody told, once each time, that something becomes pending. The closure must only note it.
  package func listenForPending(_ wake: @escaping @Sendable () -> Void) {
    files.listenForPending(wake)
  }

  /// Returns the time of the next cut that nobody asks for, and its reason; nil while nothing is pending.
  package func nextCut() -> (tick: UInt64, reason: CutReason)? {
    files.nextCut(settle: storeSettings.settle).map { ($0.tick, $0.isOverdue ? .overdue : .quiet) }
  }

  /// True while a thread writes the rows of a version: what is in it counts as pending until that has ended.
  package var isShowing: Bool { versioner.isShowing }

  /// Waits until nothing that is in the newest version counts as pending any more. No thread that answers the kernel
  /// may wait for that: the thread that writes rows tells the kernel of names.
  package func awaitShown() { versioner.awaitShown() }

  /// Returns the paths of everything that is pending, in order; nil if there are more than `limit`.
  ///
  /// - Throws: as ``WorkingTree/pendingPaths(atMost:)``.
  package func pendingPaths(atMost limit: Int) throws(FSError) -> [PendingPath]? {
    awaitShown()
    return try files.pendingPaths(atMost: limit)
  }

  /// Counts what is pending.
  ///
  /// - Complexity: O(*k* log *k*) for *k* pending names and files.
  package func pending() -> Pending {
    var pending = Pending()
    do throws(FSError) {
      let summary = try files.pendingSummary()
      (pending.changed, pending.new, pending.removed) = (
        summary.changed, summary.new, summary.removed
      )
      pending.unsaved = summary.unsaved.map(\.bytes)
      pending.beside = summary.beside.map(\.bytes)
    } catch { damage.tell("what is pending could not be counted: \(error)") }
    if let next = nextCut() {
      let now = SystemClock.monotonic()
      pending.due = next.tick > now ? next.tick - now : 0
      // It is marked then, and made when what it marked were idle for the quiet period.
      if next.reason == .overdue { pending.due? += storeSettings.settle }
    }
    return pending
  }
}
