import LLVSCore
package import TreeNames

extension WorkingTree {
  /// Runs `body`; on a full disk frees dead bytes of data files, then of the journal, and runs it again.
  func withRoom<R>(_ body: () throws(FSError) -> R) throws(FSError) -> R {
    heal()
    for _ in 0..<2 {
      do throws(FSError) {
        return try body()
      } catch {
        guard error.isNoSpace, makeRoom() else { throw error }
      }
    }
    return try body()
  }

  /// Frees dead bytes of data files; false without any. It does not wait for a head whose rows cannot be written.
  @discardableResult
  package func makeRoom() -> Bool {
    do throws(StoreError) {
      if try journal.punch(ifMoreThan: 0, { liveBytes }) { return true }
      guard journal.needsRenewal(atRest: true) else { return false }
      _ = try renew(isForced: false)
      try journal.collect { liveBytes }
      // The old file has dead bytes, too.
      _ = try journal.punch(ifMoreThan: 0) { liveBytes }
      return true
    } catch {
      // The call fails for want of room.
      return false
    }
  }

  /// A data file with fewer dead bytes stays as it is.
  private static let deadBytes: UInt64 = 256 << 10

  /// Renews the journal, removes unused data files and frees the dead bytes of others; returns messages about the files
  /// with unreadable bytes.
  /// `isForced` ignores the pause after a failure. Throws ``FSError/system(_:)``; then the journal takes records if
  /// it did before.
  package func renewJournal(isForced: Bool = false) throws(FSError) -> [String] {
    try FSError.wrapping { () throws(StoreError) in
      let losses = try renew(isForced: isForced)
      try journal.collect { liveBytes }
      // A program that keeps a database open keeps each data file that has a page of it.
      _ = try journal.punch(ifMoreThan: Self.deadBytes) { liveBytes }
      return losses
    }
  }

  /// Removes the journal's files of changes that versions have; false while something is pending or recorded.
  package func collectJournal() throws(FSError) -> Bool {
    guard !hasPending, atRest({ $0.frozen == nil }) else { return false }
    try FSError.wrapping { () throws(StoreError) in try journal.collect { liveBytes } }
    return true
  }

  /// Renews a stopped journal, so that one call recovers from a failed sync. Errors are ignored: the journal stays
  /// stopped and says why.
  func heal() { if journal.awaitsRenewal { _ = try? renew(isForced: false, afterFailure: true) } }

  private func renew(isForced: Bool, afterFailure: Bool = false) throws(StoreError) -> [String] {
    try journal.renew(isForced: isForced, afterFailure: afterFailure) { () throws(StoreError) in
      let image = atRest { state in
        state.forgetEpochs(ifMoreThan: 1)
        var image = JournalImage(
          overlay: state.overlay, epochs: state.epochs, instant: journal.instant)
        image.frozen = state.frozen
        return image
      }
      // Since a head took changes, rows may have numbers that only the old journal file had (J4).
      try syncRows()
      return image
    } adopt: { moves in
      atRest { $0.overlay.apply(moves) }
    }
  }

  /// The bytes of data files to which anything refers, changes in the journal included: a call that appends holds
  /// the lock.
  package var liveBytes: LiveBytes {
    let (overlay, frozen) = atRest { ($0.overlay, $0.frozen) }
    var live = LiveBytes(of: overlay)
    if let frozen { live.add(LiveBytes(of: frozen)) }
    return live
  }
}
