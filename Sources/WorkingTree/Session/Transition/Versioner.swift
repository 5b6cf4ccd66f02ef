import Inodes
package import LLVSCore
import Platform
import TreeNames

// INVARIANT V1: the record of a cut, and all that it took, is on the disk before the store commits the cut.
// INVARIANT V2: a failure before the store commits leaves everything pending as it was.
// INVARIANT V3: a failure after it loses nothing: the tree goes on showing the head before, and the rows of the new
//   one are made before anything else is done.
// INVARIANT V4: whoever shows a head has the turn until its rows are written, also after the outcome was returned.

/// Moves the head of a working tree: makes versions of what is saved, and applies merges, switches and restores,
/// each in one transaction and one publication.
/// - Concurrency: thread-safe; one transition at a time, while programs read and write.
package final class Versioner: Sendable {
  /// Runs a body on a new thread; false if the thread limit is reached.
  package typealias Threads = @Sendable (@escaping @Sendable () -> Void) -> Bool
  /// Moves the head in the transaction, from the head after the cut.
  package typealias GoOn = (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  /// The most times that a cut is restarted because the journal was renewed.
  private static let mostAttempts = 16
  /// The number of changed names from which on a thread for a cut's rows pays.
  package static let longCut = 256

  private struct Turn {
    var isBusy = false
    /// A committed head whose rows a thread writes.
    var showing: (head: Checkout.Head, thread: UInt?)?
    var waiting = 0
    /// True once no cut waits for the quiet period.
    var isHurried = false
    /// The number of changes of the quiet period.
    var changes: UInt64 = 0
    var lastCut: UInt64
    /// A committed head that the tree does not show.
    var owed: Checkout.Head?
  }

  private let checkout: Checkout
  private let longCut: Int
  private let threads: Threads
  private let helper = ForkJoin(name: "llvs-versions")
  private let turn: Monitor<Turn>
  /// Called with what programs see of another head; the next transition waits.
  private let notify: @Sendable (HeadChanges) -> Void
  /// Called with a message for each error that did not fail a call.
  private let report: @Sendable (String) -> Void

  /// Creates a versioner of a tree. From `longCut` changed names on, a cut does not wait for its rows, which a
  /// thread of `threads` writes.
  /// - Throws: ``StoreError/corrupt(_:)`` if the number of the last cut is damaged.
  package init(
    store: Store, recorded: RecordedTree, tree: WorkingTree, journal: Journal,
    longCut: Int = Versioner.longCut, threads: @escaping Threads = Versioner.detach,
    notify: @escaping @Sendable (HeadChanges) -> Void, report: @escaping @Sendable (String) -> Void
  ) throws(StoreError) {
    (self.longCut, self.threads) = (longCut, threads)
    checkout = Checkout(store: store, recorded: recorded, tree: tree, journal: journal)
    turn = Monitor(Turn(lastCut: try StoreCut.last(in: store)))
    self.notify = notify
    self.report = report
  }

  /// Ends the wait for the quiet period now and for every later cut, before shutdown.
  package func hurry() {
    turn.withLock { $0.isHurried = true }
    turn.broadcast()
  }

  /// Sets the quiet period in nanoseconds. A waiting cut applies it at once to the saves at its beginning.
  package func setSettle(_ settle: UInt64) {
    checkout.tree.setSettle(settle)
    turn.withLock { $0.changes += 1 }
    turn.broadcast()
  }

  /// Makes versions of everything saved, then moves the head as `goOn` says (nil: a cut alone), in one transaction.
  ///
  /// A long cut that shows programs nothing new returns after the commit; a thread writes the rows, and the next
  /// transition waits for that, as ``awaitShown()`` does.
  /// - Throws: errors of the store or `goOn`; then the head is unchanged and everything stays pending.
  @discardableResult
  package func transition(
    _ request: CutRequest, goOn: GoOn? = nil
  ) throws(StoreError) -> CutOutcome {
    takeTurn()
    var isKept = false
    defer { if !isKept { returnTurn() } }
    try checkout.store.checkPresence()
    try showOwed()
    try heal()
    var before: SaveChoice?
    var hasMadeRoom = false
    for _ in 0..<Self.mostAttempts {
      let cut = try CutAttempt(nextCut(), request, leavingOut: before, checkout, helper: helper)
      do throws(StoreError) {
        guard let (outcome, unshown) = try attempt(cut, goOn) else {
          before = cut.saves
          continue
        }
        if let unshown {
          if outcome.summary.count >= longCut, showAside(unshown) {
            isKept = true
            return outcome
          }
          _ = show(unshown)
        }
        return outcome
      } catch {
        cut.abandon()
        before = cut.saves
        guard error.isNoSpace, !hasMadeRoom, makeRoom() else { throw error }
        hasMadeRoom = true
      }
    }
    throw .busy(
      "other work on the journal of pending changes interrupted this version many times; try again")
  }

  /// The committed head whose rows a thread writes; the tree shows the same. Otherwise nil.
  package var unshownHead: VersionRecord? { turn.withLock { $0.showing?.head.version } }
  package var isShowing: Bool { turn.withLock { $0.showing != nil } }

  /// Waits until nothing in the newest version is pending; nil waits without limit. The showing thread never waits.
  package func awaitShown(nanoseconds: UInt64? = nil) {
    let caller = SystemThread.current
    _ = turn.wait(nanoseconds: nanoseconds) { turn -> Bool? in
      guard let showing = turn.showing, showing.thread != caller else { return true }
      return nil
    }
  }

  private func nextCut() -> UInt64 {
    turn.withLock { turn in
      turn.lastCut += 1
      return turn.lastCut
    }
  }

  private func takeTurn() {
    turn.withLock { $0.waiting += 1 }
    // A holder of the turn that waits for the quiet period gives the turn up.
    turn.broadcast()
    _ = turn.wait { turn -> Bool? in
      if turn.isBusy { return nil }
      turn.isBusy = true
      turn.waiting -= 1
      return true
    }
  }

  private func returnTurn() {
    turn.withLock { turn in
      turn.isBusy = false
      turn.showing = nil
    }
    turn.broadcast()
  }

  /// Makes one attempt; returns the outcome and a committed head without rows, or nil if the cut must begin again.
  private func attempt(
    _ cut: CutAttempt, _ goOn: GoOn?
  ) throws(StoreError) -> (outcome: CutOutcome, unshown: Checkout.Head?)? {
    if cut.request.reason == .overdue {
      // The saves that count are known after the quiet period.
      guard awaitQuiet() else {
        cut.abandon()
        // The cut that this one gives way to is overdue, too.
        checkout.tree.noteOverdue()
        var outcome = CutOutcome()
        outcome.gaveWay = true
        return (outcome, nil)
      }
      cut.learnSaves()
    }
    let commit: CutAttempt.Commit
    switch try cut.commit(goOn) {
    case .committed(let made): commit = made
    case .idle:
      // The disk has what a cut takes, and so must it have what a command found in no version.
      if cut.request.reason == .command { try checkout.journal.syncChanges() }
      let changes = cut.abandon(hasFailed: false)
      if !changes.notices.isEmpty { notify(changes) }
      return (cut.outcome, nil)
    case .retry:
      cut.abandon()
      return nil
    }
    // Nothing after this undoes the commit.
    guard let difference = commit.difference else { return (cut.outcome, commit.head) }
    var outcome = cut.outcome
    outcome.isShown = show(commit.head, difference)
    return (outcome, nil)
  }

  package static let detach: Threads = { body in
    (try? SystemThread.detach(name: "llvs-rows", body)) != nil
  }

  /// Starts a thread that shows a head and then returns the turn; false if there is no thread.
  private func showAside(_ head: Checkout.Head) -> Bool {
    turn.withLock { $0.showing = (head, nil) }
    let isStarted = threads { [self] in
      turn.withLock { $0.showing?.thread = SystemThread.current }
      _ = show(head)
      returnTurn()
    }
    if !isStarted { turn.withLock { $0.showing = nil } }
    return isStarted
  }

  /// Waits for the quiet period of an overdue cut, or for shutdown; false once a transition is requested.
  private func awaitQuiet() -> Bool {
    let marked = SystemClock.monotonic()
    while true {
      let seen = turn.withLock { $0.changes }
      let settle = checkout.tree.settle
      let passed = SystemClock.monotonic() - marked
      guard passed < settle else { return true }
      let woken = turn.wait(nanoseconds: settle - passed) { turn -> Turn? in
        turn.waiting > 0 || turn.isHurried || turn.changes != seen ? turn : nil
      }
      if let woken, woken.waiting > 0 || woken.isHurried { return woken.waiting == 0 }
    }
  }

  /// Shows a committed head, with a second attempt; true if the tree shows it.
  private func show(_ head: Checkout.Head, _ difference: HeadDifference? = nil) -> Bool {
    do throws(StoreError) {
      try publish(head, difference)
      return true
    } catch {
      turn.withLock { $0.owed = head }
      checkout.journal.noteOwed(head.record.cut)
      // An answered command continues with what the tree shows.
      if (try? showOwed()) != nil { return true }
      report(
        "\(error): the tree goes on showing the version before, until the rows of the new one can be written"
      )
      return false
    }
  }

  private func publish(_ head: Checkout.Head, _ known: HeadDifference?) throws(StoreError) {
    let difference: HeadDifference
    if let known {
      difference = known
    } else {
      let store = checkout.store
      difference = try checkout.prepare(head) { (number) throws(StoreError) in
        TreeView(map: store.map(of: try store.version(number)))
      }
    }
    let publication = try checkout.publish(head, difference)
    var changes = HeadChanges()
    do throws(StoreError) {
      changes = try checkout.changes(of: head, difference, publication)
      if !changes.notices.isEmpty || !changes.shown.isEmpty { notify(changes) }
    } catch {
      // The head is shown and must not be shown again.
      report("\(error): programs may go on seeing names as they were in the version before")
    }
    notifyMoved(from: changes.notices)
  }

  /// Notifies the kernel of the new names of what programs moved from noticed names before it had the notice.
  private func notifyMoved(from notices: [KernelNotice]) {
    var noticed: Set<InodeName> = []
    for case .name(let name) in notices { noticed.insert(name) }
    while true {
      let moved = checkout.tree.takeMoved()
      if moved.isEmpty { return }
      var names: [InodeName] = []
      for (from, to) in moved where noticed.contains(from) {
        noticed.insert(to)
        names.append(to)
      }
      guard !names.isEmpty else { continue }
      var changes = HeadChanges()
      changes.notices =
        names.map { .name($0) } + Set(names.map(\.directory)).sorted().map { .listing($0) }
      notify(changes)
    }
  }

  /// Frees space on a full disk; false if there is none to free.
  func makeRoom() -> Bool {
    let isFreed = checkout.tree.makeRoom()
    return checkout.journal.giveUpReserve() || isFreed
  }

  /// Shows a head that could not be shown before.
  private func showOwed() throws(StoreError) {
    guard let head = turn.withLock({ $0.owed }) else { return }
    do throws(StoreError) { try publish(head, nil) } catch {
      guard error.isNoSpace, makeRoom() else { throw error }
      try publish(head, nil)
    }
    turn.withLock { $0.owed = nil }
  }

  /// Writes pending changes again if the journal records nothing since a failed sync.
  private func heal() throws(StoreError) {
    guard checkout.journal.refusal != nil, turn.withLock({ $0.owed == nil }) else { return }
    do throws(FSError) {
      for loss in try checkout.tree.renewJournal(isForced: true) { report(loss) }
    } catch { throw StoreError(error) }
  }
}
