import Inodes
package import LLVSCore
import Platform

// INVARIANT J1 (JournalFile): a record that is refused leaves everything as before.
// INVARIANT J2 (Journal+Cuts): a cut's record, and all before it, are on the disk before the store commits the cut.
// INVARIANT J3 (Journal+Renewal): only `renew` begins again: the overlay's image in a new file, synced, renamed.
//   So the journal file with the greatest number is always whole.
// INVARIANT J4 (Journal+Renewal): a renewal waits for a cut between `taking` and `settled`, and is refused while
//   the recorded tree cannot be written. A marked cut continues, and the new file begins with the image of its
//   instant; if the renewal moved bytes, the cut begins again.
// INVARIANT J5 (Journal+Space): journal files and staging files are data files: they stay while anything refers to
//   them, are gathered when they are many, and are punched on a full disk.
// INVARIANT J6 (Journal+Syncing): a file whose sync failed is never written or synced again; nothing is recorded
//   before all that is pending was written again.
// INVARIANT J7 (DataFiles+Reading): damaged bytes are an error, never an answer.
//
// Lock order: Journal.state -> DataFiles. Under `state` the journal file is written, and nothing else on a disk.

/// The append-only record of the changes that no version has.
///
/// A journal that was opened takes no record before its first ``renew(isForced:afterFailure:_:adopt:)``.
///
/// - Concurrency: any thread. The owner appends changes one at a time, in the order in which it applies them.
package final class Journal: Sendable {
  enum Stop {
    case read
    /// A sync failed, or a refused write left bytes.
    case failed(SystemError)

    var error: StoreError {
      switch self {
      case .read: .readOnly
      case .failed(let error): .system(error)
      }
    }
  }

  enum Phase {
    case stopped(Stop)
    case open
    case syncing
    /// One thread writes a new file; records are taken if they were before.
    case renewing(Stop?)

    var stop: Stop? {
      switch self {
      case .stopped(let stop): stop
      case .renewing(let stop): stop
      case .open, .syncing: nil
      }
    }
  }

  enum Cut {
    case none
    /// It has its instant.
    case marked(UInt64)
    case taking(UInt64)
    /// The store has committed it, and its end waits for the recorded tree.
    case owed(UInt64)
  }

  struct State {
    var phase: Phase
    var file: JournalFile
    /// The checksum of the held bytes, with their future place in the journal file.
    var held: BytesSum?
    /// The bytes of all records, over all files, and how many of them are on the disk.
    var appended: UInt64 = 0
    var durable: UInt64 = 0
    /// `appended` at the last change.
    var changed: UInt64 = 0
    var cut = Cut.none
    var lastCut: UInt64
    /// The moves of a renewal that the owner's overlay lacks.
    var moves = ExtentMoves()
    /// True if the end of a cut could not be written: a renewal that began before lacks it.
    var lacksEnd = false
    var retry = Retry()
  }

  /// The longest write that goes into the journal file, which must stay quick to replay.
  static let inlineLimit = 32 << 10
  let directory: String
  let owner: JournalOwner
  let files: DataFiles
  let state: Monitor<State>
  /// The held bytes in their frame; used under `state` alone.
  let frames = FrameBuffer()
  /// Called with messages about the disk.
  let report: @Sendable (String) -> Void

  init(
    directory: String, owner: JournalOwner, files: DataFiles, state: sending State,
    report: @escaping @Sendable (String) -> Void
  ) {
    (self.directory, self.owner, self.files, self.report) = (directory, owner, files, report)
    self.state = Monitor(state)
  }

  /// Writes changes, all or none, to the end of the journal with one pwrite(2); they survive the process. The
  /// caller applies them afterwards, and has staged the bytes that they name.
  ///
  /// `mayUseReserve` is true for saves and removals, which may use the room kept for them on a full disk.
  ///
  /// - Throws: ``StoreError/system(_:)``, with ENOSPC on a full disk; ``StoreError/readOnly`` before the first
  ///   renewal. Then nothing is written, and the bytes must be staged again.
  package func append(_ changes: [Change], mayUseReserve: Bool) throws(StoreError) {
    guard !changes.isEmpty else { return }
    try state.withLock { s throws(StoreError) in
      var staged: [Extent] = []
      var namesHeld = false
      for change in changes {
        change.forEachExtent { if isHeld($0, s) { namesHeld = true } else { staged.append($0) } }
      }
      defer { if !staged.isEmpty { files.recorded(staged) } }
      do throws(StoreError) {
        let sums =
          staged.isEmpty ? [:] : try StoreError.translating(try files.unrecordedSums(of: staged))
        try write(isFreeing: mayUseReserve, namesHeld: namesHeld, &s) { frames in
          for (source, sums) in sums {
            JournalRecord.sums(source: source, sums).append(to: &frames)
          }
          JournalRecord.append(changes, to: &frames)
        }
        s.changed = s.appended
      } catch {
        if namesHeld { dropHeld(&s) }
        throw error
      }
    }
  }

  /// Writes the held bytes, and what `encode` appends, to the end of the journal; if it throws, nothing is written.
  /// `namesHeld` is true if a change among the frames names the held bytes.
  func write(
    isFreeing: Bool, namesHeld: Bool = false, _ s: inout State,
    _ encode: (inout ByteWriter) -> Void = { _ in }
  ) throws(StoreError) {
    if let stop = s.phase.stop { throw stop.error }
    let held = frames.bytes.count
    encode(&frames.bytes)
    do throws(SystemError) {
      try writeFrames(isFreeing: isFreeing, &s)
    } catch {
      frames.bytes.truncate(to: held)
      throw .system(error)
    }
    guard let sum = s.held else { return }
    s.held = nil
    if namesHeld {
      files.note([sum], in: s.file.number)
    } else {
      files.staged(sum, in: s.file.number)
    }
  }

  /// Moves all frames to the end of the journal file; if it throws, they stay.
  func writeFrames(isFreeing: Bool, _ s: inout State) throws(SystemError) {
    do throws(SystemError) {
      try s.file.append(&frames.bytes, isFreeing: isFreeing, in: directory)
    } catch {
      if s.file.isDamaged { stop(error, &s) }
      throw error
    }
    s.appended += UInt64(frames.bytes.count)
    frames.bytes.removeAll(keepingCapacity: Self.mostKept)
  }

  func stop(_ error: SystemError, _ s: inout State) {
    switch s.phase {
    case .renewing: s.phase = .renewing(.failed(error))
    case .open, .syncing, .stopped: s.phase = .stopped(.failed(error))
    }
  }

  /// Reads staged bytes, in O(bytes + two runs of at most 64 KiB); throws ``StoreError/corrupt(_:)`` for missing or
  /// damaged bytes.
  package func read(
    _ source: UInt32, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    try files.read(source, at: offset, into: buffer)
  }

  private static let checkedAtOnce: UInt64 = 1 << 20
  /// The most times that a file that changes during the check is read again.
  private static let attempts = 16

  /// Returns a sentence without period for each pending file with missing or damaged bytes, in O(bytes in data
  /// files).
  ///
  /// `current` returns what is pending now, because programs may change files during the check.
  ///
  /// - Throws: ``StoreError/cancelled``; `isCancelled` is called before each file.
  package func byteFaults(
    _ current: () -> Overlay, isCancelled: () -> Bool = { false }
  ) throws(StoreError) -> [String] {
    var faults: [String] = []
    let overlay = current()
    for number in overlay.nodes.numbers({ _ in true }).sorted() {
      guard !isCancelled() else { throw .cancelled }
      var file = overlay.nodes[number]?.file
      for _ in 0..<Self.attempts {
        guard let read = file, let error = error(reading: read) else { break }
        // Overwritten bytes may be gone, and a renewal moves bytes.
        let now = current()
        file = now.nodes[number]?.file
        guard file == read else { continue }
        faults.append(
          "\(now.title(number)): \(error.message); write the file again, restore it or remove it")
        break
      }
    }
    return faults
  }

  private func error(reading file: PendingFile) -> StoreError? {
    var bytes = LiveBytes()
    file.forEachExtent { bytes.add($0) }
    for (source, ranges) in bytes.merged {
      for range in ranges {
        var at = range.lowerBound
        while at < range.upperBound {
          let count = min(Self.checkedAtOnce, range.upperBound - at)
          do throws(StoreError) {
            try withUnsafeTemporaryAllocation(byteCount: Int(count), alignment: 1) { buffer in
              Result { () throws(StoreError) in try read(source, at: at, into: buffer) }
            }.get()
          } catch { return error }
          at += count
        }
      }
    }
    return nil
  }
}

package struct JournalOwner: Hashable, Sendable {
  package var storeID: [UInt8]
  /// The boot id; empty if unknown.
  package var bootID: [UInt8]

  /// Ids have at most 64 bytes.
  package init(storeID: [UInt8], bootID: [UInt8]) {
    precondition(storeID.count <= 64 && bootID.count <= 64, "ids of at most 64 bytes")
    (self.storeID, self.bootID) = (storeID, bootID)
  }
}
