package import LLVSCore
import Platform

extension Journal {
  private static let blockSize: UInt64 = 4096

  /// Removes the data files to which nothing refers, in O(data files), `live` and one sync.
  ///
  /// `live` returns what the overlay, frozen overlays and uncommitted cuts refer to, including all changes appended
  /// before. It runs without a lock of the journal.
  ///
  /// - Throws: ``StoreError/system(_:)`` of a sync; then nothing is removed.
  package func collect(_ live: () -> LiveBytes) throws(StoreError) {
    files.leaveStage()
    let candidates = Set(idle.keys)
    guard !candidates.isEmpty else { return }
    let alive = live().sources
    guard !candidates.isSubset(of: alive) else { return }
    // Until the end of a cut is on the disk, a power failure brings back what it dropped.
    try sync()
    files.remove(candidates, besides: alive)
  }

  /// Punches holes for the dead bytes of data files that have more than `least` of them; true if that freed any.
  /// `live` is that of ``collect(_:)``. Throws the error of a sync; then nothing is freed.
  package func punch(
    ifMoreThan least: UInt64, _ live: () -> LiveBytes
  ) throws(StoreError) -> Bool {
    files.leaveStage()
    var candidates = idle
    guard !candidates.isEmpty else { return false }
    let alive = live().merged
    if least > 0 {
      candidates = candidates.filter { number, file in
        guard let status = try? file.status() else { return false }
        let dead = dead(of: number, upTo: status.size, besides: alive)
        let kept = status.size - dead.reduce(0) { $0 + UInt64($1.count) }
        return status.allocated > kept + least
      }
      guard !candidates.isEmpty else { return false }
    }
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
      guard let before = try? file.status() else { continue }
      for range in dead(of: number, upTo: before.size, besides: alive) {
        // A file system without holes keeps the bytes.
        try? file.punchHole(range)
      }
      // Existing holes free nothing.
      if let after = try? file.status(), after.allocated < before.allocated { isAny = true }
    }
    return isAny
  }

  /// As ``punch(_:)``, for a journal that was opened and that a full disk keeps from renewal.
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
      // The removals must survive a power failure.
      try current.file.syncData()
    }
    return punch(candidates, besides: live.merged)
  }

  /// Frees the reserve; false without one.
  package func giveUpReserve() -> Bool { Reserve.giveUp(in: directory) }

  /// Frees the room for removals and saves behind the records; false without any. ``keepRoom()`` allots it again.
  package func giveUpRoom() -> Bool {
    state.withLock { s in
      guard s.phase.stop == nil, let before = try? s.file.file.status() else { return false }
      // If this fails the room stays.
      try? s.file.giveUpRoom()
      guard let after = try? s.file.file.status() else { return false }
      return after.allocated < before.allocated
    }
  }

  /// Allots the room and the reserve again, as far as the disk has space.
  package func keepRoom() {
    Reserve.make(in: directory)
    state.withLock { s in if s.phase.stop == nil { s.file.keepRoom() } }
  }

  /// The files to which nothing is added; none while it is unknown which journal file the next mount finds.
  private var idle: [UInt32: File] {
    // Under one lock, since a renewal on another thread adds a file and makes it the current one.
    state.withLock { $0.phase.stop == nil ? files.idle(besides: $0.file.number) : [:] }
  }

  /// Returns the whole blocks of a data file to which nothing refers.
  private func dead(
    of number: UInt32, upTo size: UInt64, besides alive: [UInt32: [Range<UInt64>]]
  ) -> [Range<UInt64>] {
    // Runs are kept whole, because they are checked whole.
    let (runs, missing) = files.runs(of: number, in: alive[number] ?? [])
    let kept = (runs.map(\.range) + missing).sorted { $0.lowerBound < $1.lowerBound }
    return Self.dead(kept, upTo: size)
  }

  /// The whole blocks between ascending ranges, without the header's block.
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
}
