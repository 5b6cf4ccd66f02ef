package import LLVSCore
import Platform

// Renewal (J3, J4): at every mount, when most of the journal is dead, after a failed sync, on a full disk.

/// The overlay at one instant, with which a journal begins.
package struct JournalImage: Sendable {
  package var overlay: Overlay
  package var epochs: [Epoch: UInt32]
  /// ``Journal/instant``, read while no thread could append.
  package var instant: JournalInstant
  /// The overlay at the instant of the current cut; its bytes stay.
  package var frozen: Overlay?

  package init(overlay: Overlay, epochs: [Epoch: UInt32], instant: JournalInstant) {
    (self.overlay, self.epochs, self.instant) = (overlay, epochs, instant)
  }
}

/// A place between two records.
package struct JournalInstant: Hashable, Sendable {
  var number: UInt32
  var end: UInt64
  var appended: UInt64
}

extension Journal {
  /// The place behind the last record: that of an overlay, if nothing is appended before the overlay is copied.
  package var instant: JournalInstant {
    state.withLock {
      JournalInstant(number: $0.file.number, end: $0.file.end, appended: $0.appended)
    }
  }

  /// True if so much was appended that the journal must be renewed.
  package var isOverdue: Bool { state.withLock { $0.file.isOverdue } }

  /// True if the journal is stopped or has grown, and no cut is owed. Less growth suffices after the end of a cut,
  /// which left dead records, and with `atRest`.
  package func needsRenewal(atRest: Bool) -> Bool {
    state.withLock { s in
      if case .owed = s.cut { return false }
      if s.phase.stop != nil { return true }
      return s.file.isOverdue || s.file.isGrown && (atRest || s.file.hasEndedCut)
    }
  }

  /// Begins the journal again with the image of the overlay, in O(pending changes) and two syncs, while changes are
  /// appended; returns messages about the files with unreadable bytes.
  ///
  /// Waits for a cut between ``take(_:)`` and ``settle(_:isCommitted:epochs:_:)``. Copies the bytes of data files
  /// whose sync failed, and of the smallest files if there are too many. `isForced` ignores the pause after an
  /// error; `afterFailure` renews only a stopped journal, and logs the losses. `image` is called once and syncs the
  /// recorded tree's changes, `adopt` applies moves of bytes to the owner's overlay, both without a lock of
  /// the journal.
  ///
  /// - Returns: the messages.
  /// - Throws: ``StoreError/system(_:)``, ``StoreError/busy(_:)`` while a cut is owed, and what `image` throws.
  ///   Then the journal takes records if it did before.
  package func renew(
    isForced: Bool = false, afterFailure: Bool = false,
    _ image: () throws(StoreError) -> JournalImage, adopt: (ExtentMoves) -> Void
  ) throws(StoreError) -> [String] {
    guard case .begun(let stop) = try beginRenewal(isForced: isForced, afterFailure: afterFailure)
    else { return [] }
    let result: Result<[String], StoreError>
    do throws(StoreError) {
      let image = try image()
      result = .success(
        try StoreError.translating(try rewrite(image, after: stop, adopt: adopt)))
    } catch { result = .failure(error) }
    state.withLock { s in
      if case .renewing(let stop) = s.phase { s.phase = stop.map { .stopped($0) } ?? .open }
      if case .failure = result, s.phase.stop != nil { s.retry.failed() }
    }
    state.broadcast()
    let losses = try result.get()
    Reserve.make(in: directory)
    if case .failed? = stop { report("pending changes were written again, and are on the disk") }
    if afterFailure { losses.forEach(report) }
    return losses
  }

  private enum RenewalTurn {
    case begun(Stop?)
    case needless
  }

  /// Lets a journal that a full disk keeps from renewal take records after its own; if it throws, it stays stopped.
  ///
  /// Its header may be of an earlier boot: then the next opening checks more bytes than necessary.
  ///
  /// - Important: what is pending must be what the next opening makes of the records.
  /// - Throws: ``StoreError/system(_:)``.
  package func goOn() throws(StoreError) {
    try StoreError.translating(
      try state.withLock { s throws(SystemError) in
        guard case .stopped(.read) = s.phase else { return }
        try s.file.goOn()
        s.phase = .open
      })
  }

  /// Waits for the turn to write a new file.
  private func beginRenewal(isForced: Bool, afterFailure: Bool) throws(StoreError) -> RenewalTurn {
    // A marked cut continues: its record names all that it takes.
    let turn = try state.wait { s throws(StoreError) -> RenewalTurn? in
      switch s.cut {
      case .taking: return nil
      case .owed: throw .busy("a version has not been put in place yet")
      case .none, .marked: break
      }
      switch s.phase {
      case .syncing, .renewing: return nil
      case .stopped(let stop) where !isForced && !s.retry.isTime: throw stop.error
      case .open where afterFailure: return .needless
      case .stopped, .open: break
      }
      let stop = s.phase.stop
      s.phase = .renewing(stop)
      s.lacksEnd = false
      return .begun(stop)
    }
    return turn ?? .needless
  }

  private func rewrite(
    _ image: JournalImage, after stop: Stop?, adopt: (ExtentMoves) -> Void
  ) throws(SystemError) -> [String] {
    let old = state.withLock { s in
      if case .failed? = stop { files.giveUp([s.file.number]) }
      return s.file
    }
    precondition(
      image.instant.number == old.number, "the image is made when the renewal asks for it")
    var image = image
    var moves = ExtentMoves()
    defer { files.recorded(moves.targets) }
    var lost: [UInt32: [Range<UInt64>]] = [:]
    var hasFailed = false
    if case .failed? = stop { hasFailed = true }
    try copyBytes(of: image.overlay, hasFailed: hasFailed, &moves, &lost)
    var losses = image.overlay.files(with: lost).map {
      "\($0): bytes did not reach the disk, and cannot be read back"
    }
    image.overlay.apply(moves)
    let missing = try writeGivingUpRoom(image, moves, from: old)
    // Once for each opening.
    if case .read? = stop {
      losses += image.overlay.files(with: missing).map { Self.unreadable($0) }
    }
    if !moves.isEmpty {
      adopt(moves)
      state.withLock { $0.moves = ExtentMoves() }
    }
    return losses
  }

  /// The message, without period, about a file with bytes that the journal lacks.
  static func unreadable(_ path: String) -> String {
    "\(path): the journal lacks some of its bytes, and reading it fails; write it again or remove it"
  }

  /// As ``write(_:_:from:)``; on a full disk gives up the reserve, then the room for removals behind the old
  /// records, if most of the old file is dead and more comes back.
  private func writeGivingUpRoom(
    _ image: JournalImage, _ moves: ExtentMoves, from old: JournalFile
  ) throws(SystemError) -> [UInt32: [Range<UInt64>]] {
    do throws(SystemError) {
      return try write(image, moves, from: old)
    } catch {
      guard error.isNoSpace else { throw error }
    }
    if Reserve.giveUp(in: directory) {
      do throws(SystemError) {
        return try write(image, moves, from: old)
      } catch {
        guard error.isNoSpace else { throw error }
      }
    }
    var live = LiveBytes(of: image.overlay)
    if let frozen = image.frozen { live.add(LiveBytes(of: frozen)) }
    let kept = (live.merged[old.number] ?? []).reduce(0) { $0 + UInt64($1.count) }
    let givesUp = kept < old.end / 2
    if givesUp { try state.withLock { s throws(SystemError) in try s.file.giveUpRoom() } }
    do throws(SystemError) {
      return try write(image, moves, from: old, needsRoom: !givesUp)
    } catch {
      if givesUp { state.withLock { $0.file.keepRoom() } }
      throw error
    }
  }

  /// Writes and adopts a new file; returns the unreadable bytes of the image. Without `needsRoom` the file may have
  /// no room.
  private func write(
    _ image: JournalImage, _ moves: ExtentMoves, from old: JournalFile, needsRoom: Bool = true
  ) throws(SystemError) -> [UInt32: [Range<UInt64>]] {
    let cut = state.withLock { $0.lastCut }
    var new = try NewJournalFile(number: files.nextNumber(), in: directory, owner: owner, cut: cut)
    let missing: [UInt32: [Range<UInt64>]]
    do throws(SystemError) {
      // A cut whose bytes moved begins again.
      if let frozen = image.frozen, moves.isEmpty { try new.append(frozen, files: files) }
      missing = try new.append(image.overlay, epochs: image.epochs, files: files)
      try goOn(in: &new, moves, from: old, since: image.instant, needsRoom: needsRoom)
    } catch {
      new.abandon()
      throw error
    }
    // The room behind the old file's end is useless now.
    try? old.file.truncate(to: old.file.status().size)
    do throws(SystemError) {
      try FileSystem.syncDirectory(directory)
    } catch {
      fail(error, givingUp: [])
      throw error
    }
    return missing
  }

  /// Copies what was recorded since the image, and makes the new file the current one.
  private func goOn(
    in new: inout NewJournalFile, _ moves: ExtentMoves, from old: JournalFile,
    since instant: JournalInstant, needsRoom: Bool
  ) throws(SystemError) {
    var (copied, durable) = (instant.end, instant.appended)
    while true {
      let (end, appended) = state.withLock { ($0.file.end, $0.appended) }
      try new.copy(from: old, copied..<end, moves, files: files)
      (copied, durable) = (end, appended)
      try new.flush()
      if state.withLock({ $0.file.end }) - copied < 64 << 10 { break }
    }
    let room = try new.makeRoom(isNeeded: needsRoom)
    // The old file too: bytes of files stay in it.
    var unsynced = files.takeUnsynced()
    if !files.givenUp.contains(old.number) { unsynced[old.number] = old.file }
    do throws(SystemError) {
      for file in unsynced.values { try file.syncData() }
    } catch {
      fail(error, givingUp: Set(unsynced.keys))
      throw error
    }
    try new.sync()
    try state.withLock { s throws(SystemError) in
      try writeHeldToOldFile(&s)
      // The little that is left was not reported as durable: `sync` waits for the renewal.
      try new.copy(from: old, copied..<s.file.end, moves, files: files)
      for (source, sums) in files.unrecordedInJournals {
        for record in JournalRecord.sums(of: source, all: sums) { try new.append(record) }
      }
      try new.flush()
      // Bytes that came since the sync stay in the old file.
      if s.file.end > copied { files.noteUnsynced(old.number) }
      s.file = try new.rename(room: room, files: files)
      s.durable = max(s.durable, durable)
      s.phase = .renewing(s.lacksEnd ? s.phase.stop : nil)
      s.moves = moves
      if case .marked = s.cut, !moves.isEmpty { s.cut = .none }
    }
  }

  /// The number of data files at which a renewal copies live bytes together, until half as many are left.
  private static let fileLimit = 64

  /// Copies the live bytes of files that are abandoned or too small.
  private func copyBytes(
    of overlay: Overlay, hasFailed: Bool, _ moves: inout ExtentMoves,
    _ lost: inout [UInt32: [Range<UInt64>]]
  ) throws(SystemError) {
    let isCrowded = files.count >= Self.fileLimit
    guard hasFailed || isCrowded else { return }
    let live = LiveBytes(of: overlay).merged
    var left = hasFailed ? files.givenUp : []
    if isCrowded {
      let sizes = live.mapValues { $0.reduce(0) { $0 + UInt64($1.count) } }
      let smallest = sizes.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      left.formUnion(smallest.dropLast(Self.fileLimit / 2).map(\.key))
    }
    for source in left.sorted() {
      let (runs, missing) = files.runs(of: source, in: live[source] ?? [])
      if !missing.isEmpty { lost[source, default: []] += missing }
      for run in runs {
        guard let bytes = files.bytes(of: run, in: source) else {
          lost[source, default: []].append(run.range)
          continue
        }
        let place = try files.stage(bytes)
        moves.add(run.range, of: source, to: place.offset, of: place.source)
      }
    }
  }
}
