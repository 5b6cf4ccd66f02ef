package import LLVS
import Platform

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
    /// Files that were left out because they are not saved.
    package var unsaved: [[UInt8]] = []
    package var summary = CutSummary()
  }

  package let tree: LiveTree
  /// Told what the kernel must hear; returns after it has.
  private let notify: @Sendable ([Invalidation]) -> Void
  private let log: EventLog
  private let serial = Monitor(false)

  package init(
    tree: LiveTree, log: EventLog, notify: @escaping @Sendable ([Invalidation]) -> Void
  ) {
    self.tree = tree
    self.log = log
    self.notify = notify
  }

  private func exclusively<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    _ = serial.wait { isBusy -> Bool? in
      if isBusy { return nil }
      isBusy = true
      return true
    }
    defer {
      serial.withLock { $0 = false }
      serial.broadcast()
    }
    return try body()
  }

  /// Makes a version of everything saved.
  package func cut(_ reason: LiveTree.CutReason, message: String? = nil) throws(StoreError)
    -> Outcome
  {
    try transition(reason, message: message) { (_, head) throws(StoreError) in head }
  }

  /// Cuts, then moves the head to where `goOn` says, all in one transaction.
  ///
  /// - Parameter goOn: is given the transaction and the head after the cut, and returns the new head.
  /// - Throws: whatever the store or `goOn` throws; the head is then where it was and everything that was
  ///   pending still is.
  package func transition(
    _ reason: LiveTree.CutReason, message: String? = nil, reasonText: String = "cut",
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(StoreError) -> Outcome {
    try exclusively { () throws(StoreError) in
      let id = tree.journal.state.withLock { s -> UInt64 in
        s.cutMarks += 1
        return s.cutMarks
      }
      let plan = tree.plan(reason, id: id)
      do throws(StoreError) {
        return try run(plan, reason, message: message, reasonText: reasonText, goOn)
      } catch {
        tree.abandon(plan)
        throw error
      }
    }
  }

  private func run(
    _ plan: CutPlan, _ reason: LiveTree.CutReason, message: String?, reasonText: String,
    _ goOn: (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?
  ) throws(StoreError) -> Outcome {
    let settle = tree.lock.withLock { _ in tree.settings.settle }
    // Which saves count is known once they had their quiet.
    if reason == .overdue { SystemClock.sleep(nanoseconds: settle) }
    do throws(FSError) {
      // The mark is on the disk before the store can name it.
      try tree.journal.sync()
    } catch {
      throw error.asStoreError
    }
    var outcome = Outcome(unsaved: plan.unsaved)
    let store = tree.store
    let installed = try store.write { (transaction) throws(StoreError) -> Installation? in
      let made = try CutVersions(tree: tree, plan: plan, settle: settle, message: message)
        .add(to: transaction)
      outcome.cut = made.newest
      outcome.summary = made.summary
      let head = try goOn(transaction, made.head)
      var installation = Installation(
        base: plan.base, head: head, ownVersion: made.own, entries: made.entries, foreign: [])
      guard head != plan.head || made.own != nil else { return installation }
      let record = try head.map { (number) throws(StoreError) in
        try transaction.version(number)
      }
      let target = store.map(record??.map ?? .empty)
      let (map, foreign) = try LiveMap.adopt(
        target, from: made.ownMap ?? plan.base.map, writingTo: transaction.nodes)
      installation.base = TreeView(map: map)
      installation.foreign = foreign
      try transaction.setHead(head, map: map.root, reason: reasonText)
      LiveState.record(cut: plan.id, ownVersion: made.own, in: transaction)
      return installation
    }
    if let installed {
      try tree.prepareInodes()
      let told = tree.install(installed, after: plan)
      do throws(FSError) {
        try tree.checkpoint(cut: plan.id)
      } catch {
        log.add("error", "the journal could not begin anew: \(error)")
      }
      if !told.isEmpty { notify(told) }
      outcome.head = try installed.head.flatMap { (number) throws(StoreError) in
        try store.version(number)
      }
    }
    if let version = outcome.cut {
      log.add("version", "\(version.name) \(outcome.summary.text)")
    }
    return outcome
  }
}

extension LiveTree {
  /// Takes back what planning a cut that failed has noted: everything stays pending.
  func abandon(_ plan: CutPlan) {
    lock.withLock { _ in
      hasTakeable = true
      firstPending = firstPending ?? SystemClock.monotonic()
    }
  }

  /// Makes sure that an installation can give out inode numbers.
  func prepareInodes() throws(StoreError) {
    let isLow = lock.withLock { _ in spareInodes.count < 1024 }
    guard isLow else { return }
    let first = try store.allotInodes(8192)
    lock.withLock { _ in spareInodes = first..<(first + 8192) }
  }

  /// Begins a new generation of the journal with what is still pending.
  func checkpoint(cut: UInt64) throws(FSError) {
    let header = lock.withLock { _ in
      JournalHeader(
        bootID: Self.bootID(), head: head?.rawValue ?? 0, root: base.map.root, cut: cut)
    }
    try journal.beginGeneration(
      header: header, locked: { body in lock.withLock { _ in body() } },
      gather: { [self] in (checkpointChanges(), referencedDataFiles()) })
  }
}
