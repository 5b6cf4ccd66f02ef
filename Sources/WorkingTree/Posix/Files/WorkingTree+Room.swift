import LLVSCore
package import TreeNames

// Room on the disk, and beginning the journal again.

extension WorkingTree {
  /// Runs what needs room on the disk, and again if it was full and something could be given back: first what is dead
  /// in data files, then what is dead in the journal.
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

  /// Gives the disk back what is dead in data files; false if nothing was. It does not wait for a head whose rows
  /// cannot be written.
  @discardableResult
  package func makeRoom() -> Bool {
    do throws(StoreError) {
      if try journal.punch({ liveBytes }) { return true }
      guard journal.needsRenewal(atRest: true) else { return false }
      _ = try renew(isForced: false)
      try journal.collect { liveBytes }
      // The file before has dead bytes, too.
      _ = try journal.punch { liveBytes }
      return true
    } catch {
      // The call goes on to fail for want of room, which is what it has to say.
      return false
    }
  }

  /// Begins the journal again, with what is pending, and removes the data files that nothing refers to.
  ///
  /// - Parameter isForced: asks the disk at once, also where it is left alone for some seconds since it failed.
  /// - Returns: the files of which bytes could not be read back, in words.
  /// - Throws: ``FSError/system(_:)``; then the journal takes records if it did before.
  package func renewJournal(isForced: Bool = false) throws(FSError) -> [String] {
    try FSError.wrapping { () throws(StoreError) in
      let losses = try renew(isForced: isForced)
      try journal.collect { liveBytes }
      return losses
    }
  }

  /// Writes again what is pending if nothing is recorded, so that one failed sync is met by one call.
  ///
  /// Nothing happens where the disk does not take it either: the journal goes on refusing then, and says why.
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
      // Numbers that the journal alone knew are in rows since a head took what they were given to (J4).
      try syncRows()
      return image
    } adopt: { moves in
      atRest { $0.overlay.apply(moves) }
    }
  }

  /// The bytes of data files that anything refers to.
  ///
  /// A change that the journal has is in memory too when this is found: whoever appends holds the lock.
  package var liveBytes: LiveBytes {
    let (overlay, frozen) = atRest { ($0.overlay, $0.frozen) }
    var live = LiveBytes(of: overlay)
    if let frozen { live.add(LiveBytes(of: frozen)) }
    return live
  }
}
