package import LLVSCore
import Platform

// The steps of a cut, as the journal keeps them (J2): `mark`, `taking`, `settled`.

extension Journal {
  /// Records the instant of a cut; the caller begins it in the overlay before anything else is appended.
  ///
  /// - Throws: as ``append(_:mayUseReserve:)``; then the cut has not begun.
  package func mark(_ cut: UInt64) throws(StoreError) {
    var frames: [UInt8] = []
    JournalRecord.mark(cut: cut).append(to: &frames)
    try state.withLock { s throws(StoreError) in
      try write(&frames, isFreeing: true, &s)
      s.cut = .marked(cut, file: s.file.number)
    }
  }

  /// Brings the record of a cut to the disk, and everything before it: from then on the store may commit the
  /// cut.
  ///
  /// Waits for a renewal, so the caller holds no lock that the closures of that need.
  ///
  /// - Returns: false if the journal has no instant of the cut. Then the store must not commit the cut, which begins
  ///   again after ``settle(_:isCommitted:epochs:_:)``.
  /// - Throws: as ``append(_:mayUseReserve:)`` and ``sync()``; then the store must not commit the cut either.
  @discardableResult
  package func take(_ record: TakingRecord) throws(StoreError) -> Bool {
    var frames: [UInt8] = []
    JournalRecord.taking(record).append(to: &frames)
    var taken = LiveBytes()
    for node in record.taken.nodes.values { node.save.map { taken.add($0.content) } }
    let bytes = taken
    let isTaken = try state.wait { s throws(StoreError) -> Bool? in
      if case .renewing = s.phase { return nil }
      guard case .marked(record.cut, let number) = s.cut else { return false }
      // Bytes that the cut took and programs have written over since are not in the image of a new file.
      if number != s.file.number {
        var sums: [UInt8] = []
        for record in files.sumRecords(of: bytes).records { record.append(to: &sums) }
        frames = sums + frames
      }
      try write(&frames, isFreeing: true, &s)
      s.cut = .taking(record.cut)
      return true
    }
    if isTaken == true { try sync() }
    return isTaken ?? false
  }

  /// Notes that the store has a cut which cannot end yet, since the recorded tree could not be written: nothing
  /// waits for its end any more, and the journal is not renewed before.
  package func noteOwed(_ cut: UInt64) {
    state.withLock { s in if case .taking(cut) = s.cut { s.cut = .owed(cut) } }
    state.broadcast()
  }

  /// Records the end of a cut, and the overlay as it is laid over what is recorded then.
  ///
  /// The caller makes the edits its own before anything else is appended. Where they cannot be written nothing
  /// is recorded any more until the journal is renewed, with the overlay that has them.
  ///
  /// - Parameters:
  ///   - cut: the cut.
  ///   - isCommitted: false if it came to nothing.
  ///   - epochs: the versions that new epochs stand for.
  ///   - edits: what changes in the overlay.
  package func settle(
    _ cut: UInt64, isCommitted: Bool, epochs: [Epoch: UInt32], _ edits: OverlayEdits
  ) {
    func encoded(_ edits: OverlayEdits) -> [UInt8] {
      var frames: [UInt8] = []
      for (epoch, version) in epochs.sorted(by: { $0.key < $1.key }) {
        JournalRecord.epoch(epoch, version: version).append(to: &frames)
      }
      JournalRecord.settled(cut: cut, isCommitted: isCommitted, edits).append(to: &frames)
      return frames
    }
    var frames = encoded(edits)
    state.withLock { s in
      if !s.moves.isEmpty { frames = encoded(edits.moved(s.moves)) }
      do throws(StoreError) {
        try write(&frames, isFreeing: true, &s)
      } catch {
        if case .system(let error) = error { stop(error, &s) }
        s.lacksEnd = true
      }
      s.cut = .none
      if isCommitted { s.lastCut = max(s.lastCut, cut) }
    }
    state.broadcast()
  }
}
