package import LLVSCore
import Platform

// Data files that nothing needs any more (I9, J5).

extension Journal {
  private static let blockSize: UInt64 = 4096

  /// Removes the data files that nothing refers to.
  ///
  /// - Parameter live: finds what the overlay, frozen views of it and cuts that are not committed refer to. It
  ///   is called without a lock of the journal, and must see all changes that were appended before.
  /// - Throws: ``StoreError/system(_:)`` of a sync; then nothing is removed.
  /// - Complexity: O(data files) and `live`; one sync if there is anything to remove.
  package func collect(_ live: () -> LiveBytes) throws(StoreError) {
    let candidates = Set(idle.keys)
    guard !candidates.isEmpty else { return }
    let alive = live().sources
    guard !candidates.isSubset(of: alive) else { return }
    // Until the end of a cut is on the disk, a power failure brings back what it dropped.
    try sync()
    files.remove(candidates, besides: alive)
  }

  /// Gives the disk back what is dead inside of data files, where a full disk asks for it.
  ///
  /// - Parameter live: as of ``collect(_:)``.
  /// - Returns: true if any was given back.
  /// - Throws: ``StoreError/system(_:)`` of a sync; then nothing is given back.
  package func punch(_ live: () -> LiveBytes) throws(StoreError) -> Bool {
    files.leaveStage()
    let candidates = idle
    guard !candidates.isEmpty else { return false }
    let alive = live().merged
    try sync()
    guard punch(candidates, besides: alive) else { return false }
    // The next full disk needs the reserve again.
    Reserve.make(in: directory)
    return true
  }

  private func punch(_ candidates: [UInt32: File], besides alive: [UInt32: [Range<UInt64>]]) -> Bool
  {
    var isAny = false
    for (number, file) in candidates {
      // A run is checked as a whole, so it stays as a whole.
      let (runs, missing) = files.runs(of: number, in: alive[number] ?? [])
      let kept = (runs.map(\.range) + missing).sorted { $0.lowerBound < $1.lowerBound }
      guard let before = try? file.status() else { continue }
      for range in Self.dead(kept, upTo: before.size) {
        // A file system without holes keeps what it has.
        try? file.punchHole(range)
      }
      // Holes that were there before free nothing.
      if let after = try? file.status(), after.allocated < before.allocated { isAny = true }
    }
    return isAny
  }

  /// As ``punch(_:)``, for a journal that was opened and could not be renewed, since the disk is full.
  ///
  /// - Important: the next opening, which may read the same records, must need the same bytes.
  package func punchUnbegun(_ live: LiveBytes) throws(StoreError) -> Bool {
    let (isUnbegun, current) = state.withLock { s in
      if case .stopped(.read) = s.phase { return (true, s.file) }
      return (false, s.file)
    }
    guard isUnbegun else { return false }
    let candidates = files.idle(besides: current.number)
    try StoreError.wrapping { () throws(SystemError) in
      for file in candidates.values { try file.syncData() }
      // The removals have to last over a power failure.
      try current.file.syncData()
    }
    return punch(candidates, besides: live.merged)
  }

  /// Gives back the space that is put aside for a full disk; false where none is.
  package func giveUpReserve() -> Bool { Reserve.giveUp(in: directory) }

  /// The files that nothing is added to; none while it is not sure which journal file the next mount finds.
  private var idle: [UInt32: File] {
    let current = state.withLock { $0.phase.stop == nil ? $0.file.number : nil }
    return current.map { files.idle(besides: $0) } ?? [:]
  }

  /// The whole blocks between ranges, which ascend; the first block has a header.
  private static func dead(_ kept: [Range<UInt64>], upTo size: UInt64) -> [Range<UInt64>] {
    var dead: [Range<UInt64>] = []
    var from = blockSize
    for range in kept + [size..<size] {
      let (start, end) = (
        (from + blockSize - 1) / blockSize * blockSize, range.lowerBound / blockSize * blockSize
      )
      if end > start { dead.append(start..<end) }
      from = max(from, range.upperBound)
    }
    return dead
  }

  /// The paths that a copy of the journal needs: the journal file first, then the files with bytes.
  ///
  /// They are copied in this order, the journal file up to its size when it is begun with. If ``instant`` names
  /// another file afterwards (``JournalInstant/isOfSameFile(as:)``), a renewal came between, and all is copied
  /// again.
  package func copyList() -> (journal: String, data: [String]) {
    let number = state.withLock { $0.file.number }
    let journal = "\(directory)/\(JournalFile.name(number))"
    return (journal, files.paths.filter { $0 != journal })
  }
}
