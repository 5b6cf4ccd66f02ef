import LLVSCore
import Platform

/// The times of what happened since the last cut, on the monotonic clock: they tell when the next one is due.
struct TreeActivity {
  /// The time of the first change that the next cut may take; nil while there is none.
  var first: UInt64?
  /// The time at which something was last saved, made, renamed or removed.
  private(set) var last: UInt64 = 0
  /// True if something was saved, made, renamed or removed.
  private(set) var hasTakeable = false
  /// Is called once when something becomes pending, with the tree's lock held.
  var wake: (@Sendable () -> Void)?

  /// Notes a change that a program made.
  mutating func note(_ operation: Change.Operation) {
    switch operation {
    case .node, .release: return
    case .write, .punch: break
    case .create, .resize, .save, .attributes, .link, .unlink, .rmdir, .rename, .exchange:
      last = SystemClock.monotonic()
      hasTakeable = true
    }
    notePending()
  }

  /// Notes that a cut begins, which takes all but bytes that are not saved.
  mutating func beginCut(hasUnsaved: Bool) {
    hasTakeable = false
    first = hasUnsaved ? SystemClock.monotonic() : nil
  }

  /// Notes that there is something for a cut that no program has changed just now: at a mount, and after a cut
  /// that failed.
  mutating func noteTakeable() {
    if last == 0 { last = SystemClock.monotonic() }
    hasTakeable = true
    notePending()
  }

  private mutating func notePending() {
    guard first == nil else { return }
    first = SystemClock.monotonic()
    wake?()
  }
}

/// The time of the next cut that nobody asks for.
package struct DueCut: Hashable, Sendable {
  /// The time, on the monotonic clock.
  package var tick: UInt64
  /// True if it is due because the first change is a minute old.
  package var isOverdue: Bool
}

extension WorkingTree {
  /// Has somebody told, once each time, that something becomes pending. The closure must only note it.
  package func listenForPending(_ wake: @escaping @Sendable () -> Void) {
    state { $0.activity.wake = wake }
  }

  /// True if there is something that the next cut may take.
  package var hasPending: Bool { state { $0.activity.first != nil } }

  /// Returns the time of the next cut that nobody asks for; nil while nothing is pending.
  ///
  /// - Parameter settle: the nanoseconds of quiet that a cut waits for.
  /// - Returns: the time, and why.
  /// - Complexity: O(unsaved files).
  package func nextCut(settle: UInt64) -> DueCut? {
    let pause = nextPause(settle: settle)
    let (now, time) = (SystemClock.monotonic(), Attributes.Time.now)
    return state { state in
      let activity = state.activity
      guard let first = activity.first else { return nil }
      var quiet = activity.hasTakeable ? activity.last &+ settle : UInt64.max
      if let pause {
        let paused = now &+ (time < pause ? time.nanoseconds(until: pause) : 0)
        quiet = min(quiet, max(paused, activity.last &+ settle))
      }
      let overdue = first &+ Self.longestPending
      return overdue < quiet
        ? DueCut(tick: overdue, isOverdue: true) : DueCut(tick: quiet, isOverdue: false)
    }
  }

  /// A change is in a version after so many nanoseconds, however busy the tree is.
  private static let longestPending: UInt64 = 60_000_000_000
}
