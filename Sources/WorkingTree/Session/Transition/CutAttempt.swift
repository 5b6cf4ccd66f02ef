import Inodes
import LLVSCore
import Platform
import TreeNames

/// A cut from its instant to the store's commit.
/// - Concurrency: the holder of the versioner's turn.
final class CutAttempt {
  /// Moves the head on from the head after the cut.
  typealias GoOn = (WriteTransaction, VersionNumber?) throws(StoreError) -> VersionNumber?

  struct Commit {
    var head: Checkout.Head
    /// The names that the head changes; nil if its rows are not prepared.
    var difference: HeadDifference?
  }

  /// An uncommitted cut must be abandoned.
  enum Result {
    case committed(Commit)
    case idle
    /// The next attempt leaves out unreadable bytes or uses a newer journal file.
    case retry
  }

  let number: UInt64
  let request: CutRequest
  private(set) var outcome = CutOutcome()
  /// Includes unreadable bytes, which this and later attempts leave out.
  private(set) var saves: SaveChoice
  private(set) var aside: Set<InodeName> = []
  private let checkout: Checkout
  private let helper: ForkJoin
  private let before: VersionNumber?
  private let stamp: ChangeStamp
  private let frozen: Overlay

  /// Begins a cut by recording its instant.
  /// - Throws: ``StoreError``; then there is no cut.
  init(
    _ number: UInt64, _ request: CutRequest, leavingOut earlier: SaveChoice?,
    _ checkout: Checkout, helper: ForkJoin
  ) throws(StoreError) {
    self.number = number
    self.request = request
    self.checkout = checkout
    self.helper = helper
    saves = SaveChoice(request.reason, settle: checkout.tree.settle)
    if let earlier {
      (saves.unreadable, saves.forgotten) = (earlier.unreadable, earlier.forgotten)
    }
    before = try checkout.store.state().head
    outcome.before = before
    (stamp, frozen) = try checkout.tree.freeze(isOverdue: request.reason == .overdue) {
      () throws(StoreError) in
      try checkout.journal.mark(number)
    }
  }

  /// Notes which saves the quiet period followed.
  func learnSaves() { saves.later = checkout.tree.pending.nodes }

  /// Ends a cut that is not committed, and returns what programs see of that; `hasFailed` is false if it found
  /// nothing to take.
  @discardableResult
  func abandon(hasFailed: Bool = true) -> HeadChanges {
    checkout.recorded.withdraw()
    let pending = checkout.tree.abandonCut(hasFailed: hasFailed, aside: aside) { edits in
      checkout.journal.settle(number, isCommitted: false, epochs: [:], edits)
    }
    return HeadChanges(emptiedBetween: pending.before, pending.after)
  }

  /// Commits the versions, and prepares the rows of a head that shows more than those.
  /// - Throws: ``StoreError``; then nothing has happened, and the cut must be abandoned.
  func commit(_ goOn: GoOn?) throws(StoreError) -> Result {
    let store = checkout.store
    let contents = TreeContents(store, checkout.journal)
    let tree = FrozenTree(frozen, over: checkout.recorded)
    let predecessors = Predecessors(store, head: before)
    let grouped = try recorded(tree, contents, predecessors)
    if goOn == nil, grouped.recording.isIdle {
      outcome.head = try store.version(before)
      return .idle
    }
    let writer = CutWriter(
      store, tree: tree, contents: contents, maker: request.maker, helper: helper)
    var isTaken = true
    do throws(StoreError) {
      let commit = try store.write { (transaction) throws(StoreError) in
        let made = try writer.write(grouped, on: predecessors, in: transaction)
        guard let (commit, record) = try finish(made, grouped, goOn, transaction)
        else { return nil as Commit? }
        isTaken = try checkout.journal.take(record)
        // Rolls the transaction back.
        if !isTaken { throw .busy("the journal of pending changes was renewed") }
        return commit
      }
      return commit.map { .committed($0) } ?? .idle
    } catch {
      if !isTaken { return .retry }
      if let failed = writer.failed, leaveOut(failed.content, of: failed.number) {
        if failed.isForgotten { saves.forgotten.insert(failed.number) }
        return .retry
      }
      throw error
    }
  }

  private func recorded(
    _ tree: FrozenTree, _ contents: TreeContents, _ predecessors: Predecessors
  ) throws(StoreError) -> GroupedRecording {
    let ignored = IgnoreRules(checkout.tree.ignore, in: tree) {
      contents.text(of: $0, atMost: IgnoreScope.fileLimit)
    }
    var recorder = Recorder(tree, saves: saves, ignored: ignored)
    let recording = try recorder.record()
    aside = recording.ignored
    let grouped = try GroupedRecording(
      recording, of: tree, EpochTable(checkout.tree.epochs), on: predecessors)
    outcome.note(grouped)
    return grouped
  }

  /// Leaves unreadable bytes out of the next attempt; false if this one left them out already.
  private func leaveOut(_ content: FileContent, of file: InodeNumber) -> Bool {
    guard !(saves.unreadable[file] ?? []).contains(content) else { return false }
    saves.unreadable[file, default: []].append(content)
    return true
  }

  /// Goes from the versions to the head; returns the commit and the journal's record, nil without anything to do.
  private func finish(
    _ made: CutVersions, _ grouped: GroupedRecording, _ goOn: GoOn?, _ transaction: WriteTransaction
  ) throws(StoreError) -> (Commit, TakingRecord)? {
    let first = VersionNumber(checkout.store.lastNumber + 1)
    var number = made.head
    if let goOn { number = try goOn(transaction, made.head) }
    let version = try transaction.version(number)
    (outcome.cut, outcome.head, outcome.summary) = (made.newest, version, made.summary)
    outcome.isNew = number.map { $0 >= first } ?? false
    if grouped.recording.isIdle, number == before { return nil }
    let record = grouped.record(of: self.number, at: stamp, made, goingOnWith: number)
    var head = Checkout.Head(record: record, frozen: frozen, before: before, version: version)
    head.kept = request.kept
    if let left = made.head, let number, left != number {
      head.leavesHistory = try !transaction.merger.graph.isAncestorOrSelf(left, of: number)
    }
    var difference: HeadDifference?
    if record.isForeign {
      let time = { (number: VersionNumber) -> Attributes.Time? in
        guard number >= first, let made = try? transaction.version(number) else { return nil }
        return Attributes.Time(ofVersion: made.timestamp)
      }
      difference = try checkout.prepare(head, uncommitted: time) { (number) throws(StoreError) in
        TreeView(map: self.checkout.store.map(of: try transaction.version(number)))
      }
    }
    if number != before {
      try transaction.setHead(number, map: version?.map, reason: request.headReason)
    }
    StoreCut.set(self.number, in: transaction)
    if let root = grouped.recording.root { RootAttributes.record(root.attributes, in: transaction) }
    return (Commit(head: head, difference: difference), record)
  }
}
