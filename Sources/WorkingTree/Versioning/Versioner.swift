package import Events
import Grammar
package import LLVSCore
import Platform
import TreeNames

// INVARIANT V1: the cut's mark is on the disk before the store can name the cut.
// INVARIANT V2: whatever may fail for want of room is done before the store commits; after it the tree is
//   installed and the journal begun anew under one hold of the tree's lock, so a record never stands in a
//   generation that begins before the head it was made on.
// INVARIANT V3: a failure before the store commits leaves everything pending as it was.

/// Moves the live tree's head: cuts what is saved into versions, and goes on to merges, switches and
/// restores, each in one transaction of the store and one installation in the tree.
///
/// - Concurrency: one transition at a time; live operations go on meanwhile.
package final class Versioner: Sendable {
  /// What a transition did.
  package struct Outcome: Sendable {
    /// The version that took what was saved; nil if nothing was.
    package var cut: VersionRecord?
    /// The head afterwards.
    package var head: VersionRecord?
    /// The head before.
    package var before: VersionNumber?
    /// True if this made the head that is there afterwards.
    package var isNew = false
    /// Files that were left out because they are not saved.
    package var unsaved: [[UInt8]] = []
    /// The same of files that merges or switches took their names from.
    package var unsavedDetached: [[UInt8]] = []
    /// Both.
    package var allUnsaved: [[UInt8]] { unsaved + unsavedDetached }
    /// Files that were left out because their bytes on the disk are not what was written.
    package var unreadable: [[UInt8]] = []
    package var summary = CutSummary()
    /// Whether long attributes came or went.
    fileprivate var hasLongAttributes = false
  }

  /// From so many changed names what a cut needed in memory is worth giving back, which takes some
  /// milliseconds.
  private static let largeCut = 10_000

  package let tree: LiveTree
  /// Told what the kernel must hear; returns after it has.
  private let notify: @Sendable ([Invalidation]) -> Void
  private let log: EventLog
  private let serial = Monitor(Turn())
  /// Told of what each transition did.
  private let listener = Monitor<(@Sendable (Outcome) -> Void)?>(nil)

  /// Told of the names that a transition changed in the tree, after the kernel was.
  private let shown = Monitor<(@Sendable ([ShownChange]) -> Void)?>(nil)

  /// Whose turn it is: transitions are made one at a time.
  private struct Turn {
    var isBusy = false
    /// How many wait for theirs.
    var waiting = 0
    /// Nobody waits for quiet any more.
    var isHurried = false
    /// How often settings were changed: how long the quiet is may be another then.
    var changes: UInt64 = 0
  }

  package init(
    tree: LiveTree, log: EventLog, notify: @escaping @Sendable ([Invalidation]) -> Void
  ) {
    self.tree = tree
    self.log = log
    self.notify = notify
    tree.damage.listen { log.add("error", $0) }
    tree.journal.state.withLock { s in
      s.healing.healer = { [weak self] in self?.healIfIdle() }
      s.renewer = { [weak self] in self?.renewIfIdle() ?? false }
    }
  }

  /// Has somebody told of what each transition did, while the next ones wait for their turn.
  package func listen(_ body: @escaping @Sendable (Outcome) -> Void) {
    listener.withLock { $0 = body }
  }

  /// Has somebody told of the names that transitions change in the tree, once the kernel has heard of them; the
  /// next transition waits for its return.
  package func listenForShown(_ body: (@Sendable ([ShownChange]) -> Void)?) {
    shown.withLock { $0 = body }
    tree.lock.withLock { _ in tree.tellsOfShown = body != nil }
  }

  /// Tells the kernel of names that were made without its doing.
  package func tell(_ names: [Invalidation]) {
    if !names.isEmpty { notify(names) }
  }

  /// Has a cut that waits for quiet go on at once, and every later one: the end is near.
  package func hurry() {
    serial.withLock { $0.isHurried = true }
    serial.broadcast()
  }

  /// Has a cut that waits for quiet look how long that is now.
  package func noteSettings() {
    serial.withLock { $0.changes += 1 }
    serial.broadcast()
  }

  /// Waits until what an overdue cut marked had its quiet, or the end is near.
  ///
  /// - Returns: false as soon as somebody asks for a transition.
  private func awaitQuiet() -> Bool {
    let marked = SystemClock.monotonic()
    while true {
      let seen = serial.withLock { $0.changes }
      let settle = tree.lock.withLock { _ in tree.settings.settle }
      let passed = SystemClock.monotonic() - marked
      guard passed < settle else { return true }
      let end = serial.wait(nanoseconds: settle - passed) { turn -> Turn? in
        turn.waiting > 0 || turn.isHurried || turn.changes != seen ? turn : nil
      }
      if let end, end.waiting > 0 || end.isHurried { return end.waiting == 0 }
    }
  }

  /// Begins the journal anew without a version, unless a transition is under way.
  private func renewIfIdle() -> Bool {
    ifIdle { () throws(FSError) in try tree.renewJournal() }
  }

  private func ifIdle(_ body: () throws(FSError) -> Void) -> Bool {
    let isIdle = serial.withLock { turn in
      defer { turn.isBusy = true }
      return !turn.isBusy
    }
    guard isIdle else { return false }
    defer {
      serial.withLock { $0.isBusy = false }
      serial.broadcast()
    }
    do throws(FSError) {
      try body()
      return true
    } catch {
      // The journal is as it was: who asked goes on with that.
      log.add("error", "a new journal could not be started: \(error)")
      return false
    }
  }

  /// Writes what is pending anew after a failed sync, unless a transition is under way: who wants to record
  /// something does not wait for that, which does it itself in the end.
  private func healIfIdle() {
    _ = ifIdle { tree.heal() }
  }

  /// Writes what is pending anew after a failed sync, at the beginning or the end of a transition.
  private func heal() throws(FSError) {
    try tree.journal.recover { [tree] in tree.heal() }
  }

  /// Begins the journal anew on a full disk, where a transition met that.
  private func isRenewed() -> Bool {
    guard tree.renewableBytes() >= 512 << 10 else { return false }
    do throws(FSError) {
      try tree.renewJournal()
      return true
    } catch {
      return false
    }
  }

  private func exclusively<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    serial.withLock { $0.waiting += 1 }
    // Whoever has the turn and only waits for quiet gives it up.
    serial.broadcast()
    _ = serial.wait { turn -> Bool? in
      if turn.isBusy { return nil }
      turn.isBusy = true
      turn.waiting -= 1
      return true
    }
    defer {
      serial.withLock { $0.isBusy = false }
      serial.broadcast()
    }
    return try body()
  }

  /// Makes a version of everything saved.
  package func cut(_ reason: LiveTree.CutReason, message: String? = nil) throws(StoreError)
    -> Outcome
  {
    try transition(reason, message: message, isOnlyCut: true) { (_, head) throws(StoreError) in
      head
    }
  }

  /// Cuts, then moves the head to where `goOn` says, all in one transaction.
  ///
  /// - Parameters:
  ///   - reason: why the cut is made.
  ///   - message: what the version says of itself.
  ///   - headReason: the reason in the log of heads.
  ///   - goOn: is given the transaction and the head after the cut, and returns the new head.
  /// - Returns: what was done.
  /// - Throws: whatever the store or `goOn` throws; the head is then where it was and everything that was
  ///   pending still is.
  package func transition(
    _ reason: LiveTree.CutReason, message: String? = nil, headReason: HeadReason = .cut,
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(StoreError) -> Outcome {
    try transition(
      reason, message: message, headReason: headReason, isOnlyCut: false, goOn)
  }

  private func transition(
    _ reason: LiveTree.CutReason, message: String?, headReason: HeadReason = .cut, isOnlyCut: Bool,
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(StoreError) -> Outcome {
    try exclusively { () throws(StoreError) in
      // Also where there is nothing to take: who asks for a version wants to know that all is kept.
      try tree.store.checkPresence()
      try StoreError.wrapping(heal)
      // A sync that fails on the way fails the transition; the next one finds all well.
      defer { try? heal() }
      var hasGivenBack = false
      while true {
        let known = tree.leftOutCount
        do throws(StoreError) {
          let outcome = try attempt(
            reason, message: message, headReason: headReason, isOnlyCut: isOnlyCut, goOn)
          // What the plan took goes back to the system, which is otherwise kept for the next as large.
          if outcome.summary.count >= Self.largeCut || outcome.hasLongAttributes {
            SystemMemory.trim()
          }
          listener.withLock { $0 }?(outcome)
          return outcome
        } catch {
          // One file that cannot be read does not keep the others out of versions: again, if need be
          // without it.
          if tree.leftOutCount > known { continue }
          guard error.isNoSpace, !hasGivenBack else { throw error }
          hasGivenBack = true
          let isFreed = tree.reclaim() || isRenewed()
          guard tree.journal.giveUpReserve() || isFreed else { throw error }
        }
      }
    }
  }

  private func attempt(
    _ reason: LiveTree.CutReason, message: String?, headReason: HeadReason, isOnlyCut: Bool,
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(StoreError) -> Outcome {
    let id = tree.journal.state.withLock { s -> UInt64 in
      s.cutMarks += 1
      return s.cutMarks
    }
    var plan = tree.plan(reason, id: id)
    if isOnlyCut, plan.items.isEmpty, plan.renewals.isEmpty, plan.rootAttributes == nil,
      !plan.hasEmptied, tree.journal.isSmall
    {
      tree.lock.withLock { _ in tree.isPlanning = false }
      let head = try plan.head.flatMap { (head) throws(StoreError) in
        try tree.store.version(head)
      }
      return Outcome(
        head: head, unsaved: plan.unsaved, unsavedDetached: plan.unsavedDetached,
        unreadable: plan.unreadable)
    }
    var ahead: NextGeneration?
    var staged: [UInt32] = []
    defer { for number in staged { tree.journal.recorded(number) } }
    let commit: Commit
    do throws(StoreError) {
      if reason == .overdue {
        // Which saves count is known once they had their quiet.
        guard awaitQuiet() else {
          // Who asked takes what is marked too, with what it says of its version.
          tree.abandon(plan)
          return Outcome()
        }
        tree.lock.withLock { _ in tree.choose(&plan) }
      }
      staged = try gather()
      let isLong = plan.items.count >= NextGeneration.longPlan
      let next = NextGeneration(of: tree, aside: isLong)
      ahead = next
      // What fails is found before any work is done for nothing.
      if !isLong { try next.wait() }
      commit = try made(plan, message: message, headReason: headReason, next, goOn)
    } catch {
      ahead?.discard(from: tree.journal)
      tree.abandon(plan)
      throw error
    }
    return installed(commit, plan, ahead?.prepared)
  }

  /// What the store has committed.
  private struct Commit {
    var installation: Installation
    var outcome: Outcome
    /// The last cut that the store knows.
    var cut: UInt64
  }

  /// Does what may write to the store or the journal before the version is made.
  private func gather() throws(StoreError) -> [UInt32] {
    try StoreError.wrapping { () throws(FSError) in
      let staged = try tree.gatherDataFiles()
      do throws(FSError) {
        try tree.prepareInodes()
      } catch {
        for number in staged { tree.journal.recorded(number) }
        throw error
      }
      return staged
    }
  }

  private func made(
    _ plan: CutPlan, message: String?, headReason: HeadReason, _ next: NextGeneration,
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(StoreError) -> Commit {
    let store = tree.store
    let state = try LiveState(of: store)
    return try store.write { (transaction) throws(StoreError) -> Commit in
      let first = transaction.nextVersion
      for (inode, time) in plan.directoryTimes { transaction.noteTime(time, ofDirectory: inode) }
      for path in plan.numbered { transaction.forgetImplied(path) }
      transaction.moveImplied(plan.moves)
      if let root = plan.rootAttributes { RootAttributes.record(root, in: transaction) }
      let made = try CutVersions(tree: tree, plan: plan, message: message).add(to: transaction)
      for path in made.emptied { transaction.forgetImplied(path) }
      var outcome = Outcome(
        cut: made.newest, unsaved: plan.unsaved, unsavedDetached: plan.unsavedDetached,
        unreadable: plan.unreadable, summary: made.summary)
      let head = try goOn(transaction, made.head)
      outcome.before = plan.head
      outcome.isNew = head.map { $0 >= first } ?? false
      outcome.head = try head.flatMap { (number) throws(StoreError) in
        try transaction.version(number)
      }
      var installation = Installation(
        base: plan.base, head: head, ownVersion: made.own, entries: made.entries,
        stale: made.stale, sides: made.sides, informed: made.informed)
      guard head != plan.head || made.own != nil || made.isApart else {
        installation.renumbered = made.renumbered
        if plan.hasEmptied { try installation.endKept(of: plan) }
        // The mark and the room are there before the store commits, here and below.
        try next.wait()
        return Commit(installation: installation, outcome: outcome, cut: state.cut)
      }
      if let left = made.head, let head, left != head {
        installation.leavesHistory = try !transaction.merger.graph.isAncestorOrSelf(left, of: head)
      }
      let shown = try ShownTree(after: plan, made, of: tree, from: .transaction(transaction))
      let placed = try installation.places(of: plan, shown, made)
      let adoption = LiveMap(
        shown: shown.map, placed: placed, freshInodes: state.freshInodes,
        transaction: transaction)
      let (map, difference) = try adoption.adopt(store.map(outcome.head?.map ?? .empty))
      try installation.put(map, difference, after: plan, shown, placed)
      for (path, inode) in installation.withoutEntries {
        transaction.setImplied(path, inode)
      }
      let commit = Commit(installation: installation, outcome: outcome, cut: plan.id)
      try transaction.setHead(head, map: map.root, reason: headReason)
      let record = CutRecord(
        of: plan, made, lineEpoch: tree.lock.withLock { _ in tree.lineEpoch },
        leavesHistory: installation.leavesHistory)
      try LiveState.record(cut: plan.id, ownVersion: made.own, record, in: transaction)
      try next.wait()
      return commit
    }
  }

  /// Puts what was committed under the tree; nothing here undoes the commit.
  private func installed(
    _ commit: Commit, _ plan: CutPlan, _ prepared: Journal.Preparation?
  ) -> Outcome {
    var told: [Invalidation] = []
    if let prepared {
      do throws(FSError) {
        try tree.journal.begin(prepared, locked: { body in tree.lock.withLock { _ in body() } }) {
          [tree] in
          told += tree.install(commit.installation, after: plan)
          return tree.checkpoint(cut: commit.cut)
        }
      } catch {
        log.add("error", "a new journal could not be started: \(error)")
      }
    }
    let grown = tree.lock.withLock { _ in
      defer { tree.grownLinks = [] }
      return tree.grownLinks
    }
    do throws(StoreError) {
      told += try tree.completeLinks(grown).map { .node($0) }
    } catch {
      log.add("error", "the names of hard links could not be read: \(error)")
    }
    if !told.isEmpty { notify(told) }
    while true {
      let rest = tree.noteTold()
      if rest.isEmpty { break }
      notify(rest)
    }
    let changes = tree.takeShownChanges()
    if !changes.isEmpty { shown.withLock { $0 }?(changes) }
    var outcome = commit.outcome
    outcome.hasLongAttributes =
      tree.shedExtended(of: plan)
      || commit.installation.foreign.contains { $0.new?.isShortened ?? false }
    if let version = commit.outcome.cut {
      log.add("version", "\(version.name) \(commit.outcome.summary.text)")
    }
    return outcome
  }
}

extension LiveTree {
  /// Makes sure that an installation can give out inode numbers.
  func prepareInodes() throws(FSError) {
    let isLow = lock.withLock { _ in spareInodes.upperBound - spareInodes.lowerBound < 1024 }
    guard isLow else { return }
    try FSError.wrapping { () throws(StoreError) in
      let first = try store.allotInodes(8192)
      lock.withLock { _ in spareInodes = first..<(first + 8192) }
    }
  }

  /// How many bytes a checkpoint takes now.
  ///
  /// - Complexity: O(bytes), with the lock held: ``checkpointEstimate()`` is a tenth of that.
  func checkpointSize() -> Int {
    lock.withLock { _ in
      checkpointChanges().reduce(256) { $0 + $1.encoded().count + JournalFrame.headerSize }
    }
  }

  /// What a generation of the journal begins with now; call with the lock held.
  func checkpoint(cut: UInt64) -> Journal.Checkpoint {
    Journal.Checkpoint(
      header: JournalHeader(
        bootID: Self.bootID(), head: head?.rawValue ?? 0, root: base.map.root, cut: cut,
        store: store.storeID),
      changes: checkpointChanges(), referenced: referencedDataFiles())
  }
}
