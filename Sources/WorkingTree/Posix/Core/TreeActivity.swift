import LLVSCore
import Platform

/// The times of what happened since the last cut, on the monotonic clock, which determine the next one.
struct TreeActivity {
  /// The time of the first change that the next cut may take.
  var first: UInt64?
  /// ``first`` before the last cut.
  private var firstBefore: UInt64?
  /// The time of the last save, creation, rename or removal.
  private(set) var last: UInt64 = 0
  private(set) var hasTakeable = false
  /// Called once when something becomes pending, with the tree's lock held.
  var wake: (@Sendable () -> Void)?

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

  /// Notes that a cut begins, which takes all but unsaved bytes. Only an overdue cut takes unsaved databases, so they
  /// wait for that one from the first change on, even if other cuts come.
  mutating func beginCut(hasUnsaved: Bool, isOverdue: Bool) {
    hasTakeable = false
    firstBefore = first
    first = hasUnsaved ? isOverdue ? SystemClock.monotonic() : first : nil
  }

  /// Notes that a cut was abandoned because another one began.
  mutating func resume() { first = firstBefore ?? first }

  func isOverdue(at tick: UInt64) -> Bool {
    first.map { tick >= $0 &+ WorkingTree.longestPending } ?? false
  }

  /// Notes pending changes of no current program: at a mount, and after a failed cut.
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

/// The time of the next automatic cut.
package struct DueCut: Hashable, Sendable {
  /// The time, on the monotonic clock.
  package var tick: UInt64
  /// True if the first change is a minute old.
  package var isOverdue: Bool
}

extension WorkingTree {
  /// Sets the listener called when the tree goes from clean to dirty. It runs under the lock and must only set a
  /// flag.
  package func listenForPending(_ wake: @escaping @Sendable () -> Void) {
    state { $0.activity.wake = wake }
  }

  package var hasPending: Bool { state { $0.activity.first != nil } }

  /// Returns the time of the next automatic cut after `settle` nanoseconds of quiet, in O(unsaved files); nil while
  /// nothing is pending.
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

  /// The most nanoseconds until a change is in a version, however busy the tree is.
  static let longestPending: UInt64 = 60_000_000_000
}
