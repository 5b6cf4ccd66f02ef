import LLVSCore
import Platform
import TreeNames

// Where no version is made (a disk below its reserve, files that nothing versions, a full disk) the journal
// would only grow, with what was written over or removed since. It is then begun anew without a version:
// what is pending is written once more, the generation before it goes, or has holes where nothing refers.

extension LiveTree {
  /// Begins the journal anew with what is pending.
  ///
  /// - Complexity: O(pending).
  /// - Concurrency: while no version is being made.
  func renewJournal() throws(FSError) {
    let cut = try FSError.wrapping { () throws(StoreError) in try LiveState(of: store).cut }
    let prepared: Journal.Preparation
    do throws(FSError) {
      prepared = try prepareGeneration()
    } catch {
      // On a full disk what is allotted ahead may be all there is.
      guard error.isNoSpace, journal.giveUpAhead() else { throw error }
      prepared = try prepareGeneration()
    }
    try journal.begin(prepared, locked: { body in lock.withLock { _ in body() } }) { [self] in
      checkpoint(cut: cut)
    }
    // Parts of the generation before it may be needed still; the others are given back.
    lock.withLock { _ in reclaimedAt = .max }
    _ = reclaim()
    // Where it was given up for this there may be room for it again.
    journal.makeReserve()
  }

  private func prepareGeneration() throws(FSError) -> Journal.Preparation {
    try journal.prepareGeneration(expecting: checkpointEstimate()) { checkpointSize() }
  }

  /// How many bytes of the journal would go if it were begun anew.
  ///
  /// - Complexity: O(pending).
  func renewableBytes() -> UInt64 {
    let needed = UInt64(checkpointEstimate())
    return lock.withLock { _ in
      guard !isPlanning else { return 0 }
      let (number, end) = journal.generationEnd
      let referenced = (referencedRanges()[number] ?? []).reduce(0) { $0 + UInt64($1.count) }
      return end - min(end, referenced + needed)
    }
  }

  /// Begins the journal anew where that gives so many bytes back, and no version is being made.
  ///
  /// - Returns: whether it was.
  func renewJournal(toFree least: UInt64) -> Bool {
    guard journal.generationEnd.end >= least, let renewer = journal.renewer else { return false }
    guard renewableBytes() >= least else { return false }
    return renewer()
  }
}

extension Journal {
  /// From this size on it is looked at whether the journal is worth beginning anew.
  static let renewalSize: UInt64 = 16 << 20

  /// The current generation, and where its records end.
  var generationEnd: (number: UInt32, end: UInt64) {
    state.withLock { ($0.generation, $0.fileEnd + UInt64($0.buffer.count)) }
  }

  /// Who begins the journal anew, unless a version is being made.
  var renewer: (@Sendable () -> Bool)? { state.withLock { $0.renewer } }

  /// Whether the journal has grown so much since it was last looked at that it may be worth beginning anew.
  func isDueForRenewal() -> Bool {
    state.withLock { s in
      guard s.unbegun == nil, s.failure == nil, s.fileEnd >= s.renewalDue else { return false }
      // Where it is not worth it now, it may be when there is as much again.
      s.renewalDue = 2 * s.fileEnd
      return true
    }
  }

  /// Gives back what is allotted behind the records; false where nothing is.
  func giveUpAhead() -> Bool {
    seize()
    defer { release() }
    let ahead = state.withLock { s -> (File, UInt64)? in
      guard s.unbegun == nil, s.failure == nil, s.allocated > s.writtenEnd else { return nil }
      return (s.file, s.writtenEnd)
    }
    guard let (file, end) = ahead else { return false }
    do throws(SystemError) {
      try file.truncate(to: end)
    } catch {
      return false
    }
    state.withLock { s in
      s.allocated = end
      s.zeroEnd = 0
    }
    return true
  }
}
