import Inodes
package import LLVSCore
import Platform
import TreeNames

// INVARIANT V1: the record of a cut, and all that it took, is on the disk before the store commits the cut.
// INVARIANT V2: a failure before the store commits leaves everything pending as it was.
// INVARIANT V3: a failure after it loses nothing: the tree goes on showing the head before, and the rows of the new
//   one are made before anything else is done.
// INVARIANT V4: whoever shows a head has the turn until its rows are written, also after the outcome was returned.

/// Moves the head of a working tree: makes versions of what is saved, and goes on to merges, switches and restores,
/// each in one transaction of the store and one publication in the tree.
///
/// - Concurrency: any thread; one transition at a time. Programs go on in the meantime.
package final class Versioner: Sendable {
  /// Starts a body on a thread; false if there are too many.
  package typealias Threads = @Sendable (@escaping @Sendable () -> Void) -> Bool
  /// Moves the head on, in the transaction and from the head after the cut.
  package typealias GoOn = (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?

  /// A renewal of the journal lets a cut begin again; so many in a row are a fault.
  private static let mostAttempts = 16
  /// From so many changed names on the rows of a cut take longer than a thread costs.
  package static let longCut = 256

  private struct Turn {
    var isBusy = false
    /// A head that the store has, and of which a thread writes the rows.
    var showing: (head: Checkout.Head, thread: UInt?)?
    /// The number of those who wait for theirs.
    var waiting = 0
    /// True if nobody waits for quiet any more.
    var isHurried = false
    /// The number of times that somebody changed how long the quiet is.
    var changes: UInt64 = 0
    /// The number of the last cut that was begun.
    var lastCut: UInt64
    /// A head that the store has and the tree does not show.
    var owed: Checkout.Head?
  }

  private let checkout: Checkout
  private let longCut: Int
  private let threads: Threads
  private let helper = ForkJoin(name: "llvs-versions")
  private let turn: Monitor<Turn>
  /// Is told what programs see of another head, while the next transition waits.
  private let notify: @Sendable (HeadChanges) -> Void
  /// Is told what went wrong without failing a call, in words.
  private let report: @Sendable (String) -> Void

  /// Creates a versioner of a tree over its recorded tree, with the journal that it writes to.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - recorded: the recorded tree.
  ///   - tree: the working tree.
  ///   - journal: the journal of what is pending.
  ///   - longCut: the number of changed names from which on a cut does not wait for its rows.
  ///   - threads: starts the thread that writes them then.
  ///   - notify: is told what programs see of another head, while the next transition waits.
  ///   - report: is told what went wrong without failing a call, in words.
  /// - Throws: ``StoreError/corrupt(_:)`` if the store does not know its last cut.
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

  /// Has a cut that waits for quiet go on at once, and every later one: the end is near.
  package func hurry() {
    turn.withLock { $0.isHurried = true }
    turn.broadcast()
  }

  /// Changes the nanoseconds in which no write must follow a save that counts. A cut that waits for quiet goes by
  /// them at once, and looks at saves as they were when it began.
  package func setSettle(_ settle: UInt64) {
    checkout.tree.setSettle(settle)
    turn.withLock { $0.changes += 1 }
    turn.broadcast()
  }

  /// Makes versions of everything that is saved, then moves the head to where `goOn` says, all in one transaction.
  ///
  /// A long cut that shows programs nothing new returns when the store has it; a thread writes the rows, and the next
  /// transition waits for that, as ``awaitShown()`` does. What programs see is the same before and after.
  ///
  /// - Parameters:
  ///   - request: what is asked for.
  ///   - goOn: moves the head on; nil for a cut alone.
  /// - Returns: what was made, and the head.
  /// - Throws: whatever the store or `goOn` throws; then the head is where it was, and all that was pending still is.
  @discardableResult
  package func transition(
    _ request: CutRequest, goOn: GoOn? = nil
  ) throws(StoreError) -> CutOutcome {
    takeTurn()
    var isKept = false
    defer { if !isKept { returnTurn() } }
    try checkout.store.checkPresence()
    // The journal is not renewed before the cut that is owed has ended.
    try showOwed()
    try heal()
    var unreadable: [InodeNumber: [FileContent]] = [:]
    var hasMadeRoom = false
    for _ in 0..<Self.mostAttempts {
      let cut = try CutAttempt(nextCut(), request, leavingOut: unreadable, checkout, helper: helper)
      do throws(StoreError) {
        guard let (outcome, unshown) = try attempt(cut, goOn) else {
          unreadable = cut.saves.unreadable
          continue
        }
        if let unshown {
          if outcome.summary.count >= longCut, showAside(unshown) {
            isKept = true
            return outcome
          }
          _ = show(unshown)
        }
        renewJournal()
        return outcome
      } catch {
        cut.abandon()
        unreadable = cut.saves.unreadable
        guard error.isNoSpace, !hasMadeRoom, makeRoom() else { throw error }
        hasMadeRoom = true
      }
    }
    throw .busy(
      "other work on the journal of pending changes interrupted this version many times; try again")
  }

  /// The head that the store has and of which a thread writes the rows: what the tree shows is the same; nil if there
  /// is none.
  package var unshownHead: VersionRecord? { turn.withLock { $0.showing?.head.version } }

  /// True while a thread writes the rows of a version.
  package var isShowing: Bool { turn.withLock { $0.showing != nil } }

  /// Waits until nothing that is in the newest version counts as pending any more; nil nanoseconds are for ever.
  ///
  /// The thread that shows a head, and tells of it, waits for nothing.
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
    // Whoever has the turn and only waits for quiet gives it up.
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

  // MARK: - The steps

  /// Makes one attempt at a transition.
  ///
  /// - Returns: the outcome, and the head that the store has and whose rows are still to be written; nil if the cut
  ///   has to begin again.
  private func attempt(
    _ cut: CutAttempt, _ goOn: GoOn?
  ) throws(StoreError) -> (outcome: CutOutcome, unshown: Checkout.Head?)? {
    if cut.request.reason == .overdue {
      // Which saves count is known once they were idle for the quiet period.
      guard awaitQuiet() else {
        cut.abandon()
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
      // What a cut takes is on the disk; so is what a command found to be in no version.
      if cut.request.reason == .command { try checkout.journal.syncChanges() }
      cut.abandon(hasFailed: false)
      return (cut.outcome, nil)
    case .retry:
      cut.abandon()
      return nil
    }
    // Nothing from here on undoes the commit.
    guard let difference = commit.difference else { return (cut.outcome, commit.head) }
    var outcome = cut.outcome
    outcome.isShown = show(commit.head, difference)
    return (outcome, nil)
  }

  package static let detach: Threads = { body in
    (try? SystemThread.detach(name: "llvs-rows", body)) != nil
  }

  /// Leaves it to a thread to show a head, and to return the turn then; false if there is no thread.
  private func showAside(_ head: Checkout.Head) -> Bool {
    turn.withLock { $0.showing = (head, nil) }
    let isStarted = threads { [self] in
      turn.withLock { $0.showing?.thread = SystemThread.current }
      _ = show(head)
      renewJournal()
      returnTurn()
    }
    if !isStarted { turn.withLock { $0.showing = nil } }
    return isStarted
  }

  /// Waits for what an overdue cut marked to have its quiet, or for the end to be near.
  ///
  /// - Returns: false as soon as somebody asks for a transition.
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

  /// Shows a head that the store has committed, at the second attempt if need be; true if the tree shows it.
  private func show(_ head: Checkout.Head, _ difference: HeadDifference? = nil) -> Bool {
    do throws(StoreError) {
      try publish(head, difference)
      return true
    } catch {
      turn.withLock { $0.owed = head }
      checkout.journal.noteOwed(head.record.cut)
      // A command that was answered goes on with what the tree shows.
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
        let version = try number.flatMap { (number) throws(StoreError) in try store.version(number)
        }
        return TreeView(map: store.map(version?.map ?? .empty))
      }
    }
    let publication = try checkout.publish(head, difference)
    do throws(StoreError) {
      let changes = try checkout.changes(of: head, difference, publication)
      if !changes.notices.isEmpty || !changes.shown.isEmpty { notify(changes) }
    } catch {
      // The head is shown, which nothing may do twice.
      report("\(error): programs may go on seeing names as they were in the version before")
    }
    tellMoved()
  }

  /// Tells of the names that programs moved before the kernel had heard of a head.
  private func tellMoved() {
    while true {
      let moved = checkout.tree.takeMoved()
      if moved.isEmpty { return }
      var changes = HeadChanges()
      changes.notices =
        moved.map { .name($0) } + Set(moved.map(\.directory)).sorted().map { .listing($0) }
      notify(changes)
    }
  }

  /// Gives the disk back what a full one can get back; false if there is nothing.
  private func makeRoom() -> Bool {
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

  /// Writes what is pending again if the journal records nothing since a sync failed.
  private func heal() throws(StoreError) {
    guard checkout.journal.needsRenewal(atRest: false), turn.withLock({ $0.owed == nil }) else {
      return
    }
    do throws(FSError) {
      for loss in try checkout.tree.renewJournal(isForced: true) { report(loss) }
    } catch { throw StoreError(error) }
  }

  /// Begins the journal again if it has grown.
  private func renewJournal() {
    guard turn.withLock({ $0.owed == nil }), checkout.journal.needsRenewal(atRest: true) else {
      return
    }
    do throws(FSError) { for loss in try checkout.tree.renewJournal() { report(loss) } } catch {
      // The journal is as it was, and the next transition tries again.
      report("a new journal could not be begun: \(error)")
    }
  }
}

extension StoreError {
  /// True if the disk is full, or the user's part of it.
  var isNoSpace: Bool {
    guard case .system(let error) = self else { return false }
    return error.errno == Errno.noSpace || error.errno == Errno.quota
  }
}
