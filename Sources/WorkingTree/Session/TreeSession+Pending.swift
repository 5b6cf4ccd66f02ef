import Events
import Grammar
import Inodes
import LLVSCore
import Platform
package import TreeNames

extension TreeSession {
  /// The pending changes, for the status.
  package struct Pending: Sendable {
    /// Names with another file, or with changed bytes or attributes.
    package var changed = 0
    package var new = 0
    package var removed = 0
    /// Files with bytes that no save covers.
    package var unsaved: [[UInt8]] = []
    /// Names that new heads gave to other files and that are saved nevertheless.
    package var beside: [[UInt8]] = []
    /// Nanoseconds until the next version; nil while nothing is pending.
    package var due: UInt64?
  }

  /// Sets the listener called when the tree goes from clean to dirty; it must only set a flag.
  package func listenForPending(_ wake: @escaping @Sendable () -> Void) {
    files.listenForPending(wake)
  }

  /// The time and reason of the next automatic cut; nil while nothing is pending.
  package func nextCut() -> (tick: UInt64, reason: CutReason)? {
    files.nextCut(settle: storeSettings.settle).map { ($0.tick, $0.isOverdue ? .overdue : .quiet) }
  }

  /// True while a thread writes the rows of a version, whose changes count as pending until it ends.
  package var isShowing: Bool { versioner.isShowing }
  /// Waits until nothing in the newest version counts as pending. No thread that answers the kernel may call this,
  /// because the thread that writes rows notifies the kernel.
  package func awaitShown() { versioner.awaitShown() }

  /// The paths of all pending changes, sorted; nil for more than `limit`.
  /// - Throws: as ``WorkingTree/pendingPaths(atMost:)``.
  package func pendingPaths(atMost limit: Int) throws(FSError) -> [PendingPath]? {
    awaitShown()
    return try files.pendingPaths(atMost: limit)
  }

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
      // An overdue cut marks saves and takes them after the quiet period.
      if next.reason == .overdue { pending.due? += storeSettings.settle }
    }
    return pending
  }
}
