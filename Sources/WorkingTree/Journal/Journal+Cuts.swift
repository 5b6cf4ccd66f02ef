package import LLVSCore
import Platform

// The records of a cut (J2): `mark`, `taking`, `settled`.

extension Journal {
  /// Records the instant of a cut; the caller begins the cut in the overlay before it appends anything else.
  package func mark(_ cut: UInt64) throws(StoreError) {
    try state.withLock { s throws(StoreError) in
      try write(isFreeing: true, &s) { JournalRecord.mark(cut: cut).append(to: &$0) }
      s.cut = .marked(cut)
    }
  }

  /// Brings the record of a cut, and everything before it, to the disk: then the store may commit the cut.
  ///
  /// Waits for a renewal, so the caller holds no lock that the renewal's closures need.
  ///
  /// - Returns: false if the journal has no instant of the cut. Then the cut must not be committed, and begins
  ///   again.
  /// - Throws: as ``append(_:mayUseReserve:)`` and ``sync()``; then the store must not commit the cut.
  @discardableResult
  package func take(_ record: TakingRecord) throws(StoreError) -> Bool {
    var taking = ByteWriter()
    JournalRecord.taking(record).append(to: &taking)
    let isTaken = try state.wait { s throws(StoreError) -> Bool? in
      if case .renewing = s.phase { return nil }
      guard case .marked(record.cut) = s.cut else { return false }
      try write(isFreeing: true, &s) { $0.append(contentsOf: taking) }
      s.cut = .taking(record.cut)
      return true
    }
    if isTaken == true { try sync() }
    return isTaken ?? false
  }

  /// Notes that the committed cut cannot end, because the recorded tree cannot be written: no thread waits for its
  /// end, and the journal is not renewed before.
  package func noteOwed(_ cut: UInt64) {
    state.withLock { s in if case .taking(cut) = s.cut { s.cut = .owed(cut) } }
    state.broadcast()
  }

  /// Records the end of a cut, the edits of the overlay, and the versions of new epochs.
  ///
  /// The caller applies the edits before it appends anything else. If the write fails, the journal stops until a
  /// renewal writes the edited overlay.
  package func settle(
    _ cut: UInt64, isCommitted: Bool, epochs: [Epoch: UInt32], _ edits: OverlayEdits
  ) {
    func encoded(_ edits: OverlayEdits) -> ByteWriter {
      var frames = ByteWriter()
      for (epoch, version) in epochs.sorted(by: { $0.key < $1.key }) {
        JournalRecord.epoch(epoch, version: version).append(to: &frames)
      }
      JournalRecord.settled(cut: cut, isCommitted: isCommitted, edits).append(to: &frames)
      return frames
    }
    let end = encoded(edits)
    state.withLock { s in
      let moves = s.moves
      do throws(StoreError) {
        try write(isFreeing: true, &s) { frames in
          if moves.isEmpty {
            frames.append(contentsOf: end)
          } else {
            frames.append(contentsOf: encoded(edits.moved(moves)))
          }
        }
      } catch {
        if case .system(let error) = error { stop(error, &s) }
        s.lacksEnd = true
      }
      s.cut = .none
      s.file.hasEndedCut = true
      if isCommitted { s.lastCut = max(s.lastCut, cut) }
    }
    state.broadcast()
  }
}
