package import Inodes
package import LLVSCore
import Platform
import Synchronization
package import TreeNames

/// The tree that programs see and change: the recorded tree with what is pending over it.
///
/// A call that reads looks in the overlay, then in the recorded tree. A call that changes decides under the locks,
/// writes to the journal, then changes the overlay: what the journal refuses leaves everything as before.
///
/// Lock order: `writing`, then `memory`. Under `memory` nothing is read or written; under `writing` only the
/// journal is written, the rows of a new head are committed, and patterns are read when they change.
///
/// INVARIANT I8: a change is in the journal before memory, and bytes are in a data file before their change.
/// INVARIANT I11: nothing becomes pending but by a program's call.
///
/// - Concurrency: any thread.
package final class WorkingTree: Sendable {
  let base: RecordedTree
  let journal: any ChangeJournal
  let contents: StoreContents
  let numbers: NumberSource
  let head: any HeadReading
  package let defaults: AttributeDefaults
  let syncRows: RowsSync
  /// Held by a call that changes the overlay or the recorded tree.
  // A state of no size would share its address with a field, which the thread sanitizer takes for a race.
  let writing = Monitor(false)
  private let memory: Monitor<TreeState>
  private let recent = RecentInodes()
  private let directories: RecentDirectories
  /// One that no call uses, because making one takes as long as an answer. A leaf lock.
  private let idle = Mutex<RememberedBase?>(nil)

  /// Creates a tree over the journal's changes, with the versions of epochs. `syncRows` brings the recorded tree's
  /// rows to the disk, on any thread, also while another head's rows are prepared.
  package init(
    base: RecordedTree, overlay: Overlay, epochs: [Epoch: UInt32] = [:],
    journal: any ChangeJournal, contents: StoreContents, head: any HeadReading,
    numbers: NumberSource, defaults: AttributeDefaults, ignore: IgnorePatterns = IgnorePatterns([]),
    syncRows: @escaping RowsSync = {}
  ) {
    self.base = base
    directories = RecentDirectories(base.cookies)
    self.journal = journal
    self.contents = contents
    self.head = head
    self.numbers = numbers
    self.defaults = defaults
    self.syncRows = syncRows
    memory = Monitor(TreeState(overlay: overlay, epochs: epochs, ignore: ignore))
  }

  /// Runs `body` with the state in memory; it must not read or write anything else.
  func state<R>(_ body: (inout TreeState) throws(FSError) -> R) throws(FSError) -> R {
    try memory.withLock(body)
  }

  func state<R>(_ body: (inout TreeState) -> R) -> R { memory.withLock(body) }

  /// Removes an orphan without a holder, unless something saved in it belongs to a name.
  func release(_ number: InodeNumber) {
    // The change needs no record, because after a mount nothing is held.
    writing.withLock { _ in
      state { state in
        guard !state.isHeld(number) else { return }
        state.apply(Change(time: .now, .release(number)))
      }
    }
  }

  /// Runs `body` with the state in memory, while no change is between the journal and memory.
  func atRest<R>(_ body: (inout TreeState) -> R) -> R { writing.withLock { _ in state(body) } }

  /// Answers from the overlay and the recorded tree at one instant. `body` runs under the lock and may run again:
  /// what it asks of the recorded tree is read between two runs, without the lock.
  func answer<R>(
    _ body: (inout TreeState, RememberedBase) throws(FSError) -> R
  ) throws(FSError) -> R {
    try remembering { remembered throws(FSError) -> R in
      while true {
        if let found = try attempt(remembered, body) { return found }
        try waitOrRead(remembered)
      }
    }
  }

  /// Runs `body` with a base that remembers nothing yet.
  private func remembering<R>(
    _ body: (RememberedBase) throws(FSError) -> R
  ) throws(FSError) -> R {
    let remembered =
      idle.withLock { $0.take() } ?? RememberedBase(base, contents, head, recent, directories)
    defer {
      remembered.reset()
      idle.withLock { $0 = remembered }
    }
    return try body(remembered)
  }

  /// Runs `body` under the lock; nil if something must be read first, or another head is being shown.
  private func attempt<R>(
    _ remembered: RememberedBase, _ body: (inout TreeState, RememberedBase) throws(FSError) -> R
  ) throws(FSError) -> R? {
    try state { state throws(FSError) -> R? in
      guard !state.isPublishing else { return nil }
      remembered.begin(publication: state.publication)
      do throws(FSError) {
        let result = try body(&state, remembered)
        return remembered.isMissing ? nil : result
      } catch {
        // A closure that lacks an answer fails for that reason.
        guard remembered.isMissing else { throw error }
        return nil
      }
    }
  }

  private func waitOrRead(_ remembered: RememberedBase) throws(FSError) {
    guard remembered.isMissing else { return waitForPublication() }
    do throws(FSError) {
      try remembered.readMissing()
    } catch {
      let isOfThisHead = state { state in
        !state.isPublishing && remembered.isOf(publication: state.publication)
      }
      if isOfThisHead { throw error }
      // Half of it was read of another head, so all is read again.
      remembered.dropMissing()
    }
  }

  func waitForPublication() { writing.withLock { _ in } }

  /// What a call changes.
  enum Plan {
    case nothing
    /// An operation, and its inode unless the overlay surely knows that. Most changes are so: lists are allocated.
    case one(Change.Operation, of: InodeNumber?)
    /// Operations in order, and the inodes that the overlay may not know.
    case many([Change.Operation], concerning: [InodeNumber])
  }

  struct Decision<R> {
    let plan: Plan
    /// Makes the call's answer, after the operations were applied.
    let finish: (inout TreeState) -> R

    init(
      concerned: [InodeNumber] = [], operations: [Change.Operation] = [],
      finish: @escaping (inout TreeState) -> R
    ) {
      plan = operations.isEmpty ? .nothing : .many(operations, concerning: concerned)
      self.finish = finish
    }

    init(
      _ operation: Change.Operation, of inode: InodeNumber?,
      finish: @escaping (inout TreeState) -> R
    ) {
      (plan, self.finish) = (.one(operation, of: inode), finish)
    }

    /// An operation on an inode that the overlay knows; nil if nothing changes.
    init(_ operation: Change.Operation?, finish: @escaping (inout TreeState) -> R) {
      (plan, self.finish) = (operation.map { .one($0, of: nil) } ?? .nothing, finish)
    }
  }

  /// Decides about a change, writes it to the journal and applies it, inside ``withRoom(_:)`` or after ``heal()``.
  /// `decide` runs under the locks and may run again, as the closure of ``answer(_:)``; it must not change the state.
  /// If `decide` or the journal throws, nothing has changed.
  func change<R>(
    by process: Int32 = 0, mayUseReserve: Bool = false,
    _ decide: (inout TreeState, RememberedBase) throws(FSError) -> Decision<R>
  ) throws(FSError) -> R {
    try remembering { remembered throws(FSError) -> R in
      while true {
        let done = try writing.withLock { _ throws(FSError) in
          try perform(by: process, mayUseReserve, remembered, decide)
        }
        if let done { return done }
        try waitOrRead(remembered)
      }
    }
  }

  /// Attempts a change, with `writing` held; nil if something must be read first.
  private func perform<R>(
    by process: Int32, _ mayUseReserve: Bool, _ remembered: RememberedBase,
    _ decide: (inout TreeState, RememberedBase) throws(FSError) -> Decision<R>
  ) throws(FSError) -> R? {
    let time = remembered.readClock()
    let decided = try attempt(remembered) {
      state, base throws(FSError) -> ([Change], Bool, (inout TreeState) -> R) in
      let decision = try decide(&state, base)
      let changes = try Self.changes(
        decision.plan, over: state.overlay, base, time: time, process: process)
      return (changes, state.overlay.changesPatterns(changes), decision.finish)
    }
    guard let (decision, changesPatterns, finish) = decided else { return nil }
    let changes =
      changesPatterns ? try FSError.translating(try withScratchMoves(decision)) : decision
    if !changes.isEmpty {
      do throws(StoreError) {
        try journal.append(changes, mayUseReserve: mayUseReserve)
      } catch {
        throw FSError(error)
      }
    }
    return state { state in
      for change in changes { state.apply(change) }
      return finish(&state)
    }
  }

  /// Returns the changes of a plan, after those that make its inodes known to the overlay.
  @inline(__always)
  private static func changes(
    _ plan: Plan, over overlay: borrowing Overlay, _ base: RememberedBase, time: Attributes.Time,
    process: Int32
  ) throws(FSError) -> [Change] {
    let (operations, concerned): ([Change.Operation], [InodeNumber])
    switch plan {
    case .nothing: return []
    case .one(let operation, let inode):
      // Most calls concern what is pending already.
      if inode.map({ overlay.nodes.contains($0) }) ?? true {
        return [Change(time: time, process: process, operation)]
      }
      (operations, concerned) = ([operation], inode.map { [$0] } ?? [])
    case .many(let all, let inodes): (operations, concerned) = (all, inodes)
    }
    let isKnown = concerned.allSatisfy { overlay.nodes.contains($0) }
    let bindings =
      isKnown ? [] : try FSError.translating(try overlay.bindings(of: concerned, over: base))
    return (bindings + operations).map { Change(time: time, process: process, $0) }
  }
}

extension Attributes.Time {
  package static var now: Attributes.Time {
    let time = SystemClock.realtime()
    return Attributes.Time(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }
}

extension TreeState {
  /// Forgets the versions of unused epochs beyond `limit` epochs, in O(*p*) for *p* pending changes and processes
  /// behind.
  mutating func forgetEpochs(ifMoreThan limit: Int) {
    guard epochs.count > limit else { return }
    writers.tidy()
    var needed = overlay.epochsInUse.union(writers.epochs)
    if let frozen { needed.formUnion(frozen.epochsInUse) }
    epochs = epochs.filter { needed.contains($0.key) }
    epochLimit = max(Self.leastEpochLimit, 2 * epochs.count)
  }
}
