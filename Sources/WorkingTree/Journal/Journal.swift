import Events
import Inodes
import LLVSCore
import Platform
import TreeNames

// The journal of pending changes: what makes a write survive the daemon, and an fsync the power.
//
// INVARIANT J1: a change is answered only after its record is with the kernel (`commit`), so a killed
//   daemon loses nothing that was answered.
// INVARIANT J2: bytes that a record refers to are with the kernel before the record is.
// INVARIANT J3: bytes in a data file are never overwritten; a file goes only when nothing refers to it.
// INVARIANT J4: `sync` returns only after everything recorded before it is on the disk: first staging
//   files, then the journal. After a failed sync the files are given up, never synced again, and nothing
//   is recorded before all that is pending was written anew (Journal+Healing.swift).
// INVARIANT J5: a new generation replaces the old one by rename(2) after it and what it refers to is on
//   the disk, so there is always one whole generation. One that could not be written is kept in memory:
//   nothing is answered before a later call has written it.
// INVARIANT J6 stands in Journal+Sums.swift: bytes that rotted are an error, never an answer.
// INVARIANT J7 stands in Journal+Healing.swift: what becomes of a file whose sync failed.
// INVARIANT J8: behind the last record the file ends, or there are zeros to its end (Journal+Room.swift).
//   Neither is a record; a record that zeros cut off was never answered.
// INVARIANT J9: a size that one call brings together with attributes or with zeros is two records side by side, of
//   which the first, the size's, says that it counts only with the second; so a crash leaves both or neither.
//
// Lock order: LiveTree.lock -> Journal.state. Nothing is held while a file is read, written or synced.

/// The append-only record of what happened to the live tree since its last checkpoint.
package final class Journal: Sendable {
  /// How far behind the last record a position is; grows for the life of the journal object.
  typealias Position = UInt64

  struct State {
    var generation: UInt32
    var file: File
    /// Bytes of the file that are with the kernel or being written.
    var fileEnd: UInt64
    var buffer: [UInt8] = []
    /// Total bytes appended and written, over all generations.
    var appended: Position = 0
    var written: Position = 0
    /// How far the file is with the kernel.
    var writtenEnd: UInt64 = 0
    var isWriting = false
    var isSyncing = false
    var syncedPosition: Position = 0
    var allocated: UInt64 = 0
    /// Bytes of this generation's records without data: about what the next one begins with, or more.
    var metaBytes: UInt64 = 0
    /// Zeros stand from the last record up to here; nowhere where this is less than its end.
    var zeroEnd: UInt64 = 0
    /// Syncs of little that this generation has had.
    var smallSyncs = 0
    /// The kernel did not take what is in ``buffer`` when it was last asked to.
    var isRefused = false
    /// Why a sync failed, until what is pending was written anew.
    var failure: SystemError?
    var healing = Healing()
    /// Begins the journal anew, if it can do so now.
    var renewer: (@Sendable () -> Bool)?
    /// How large it is when that is looked at again.
    var renewalDue = Journal.renewalSize
    /// The generation that records go into once it is on the disk; nil as a rule.
    var unbegun: Unbegun?
    /// Where large payloads go: one file, and another for what is written beside it at the same time.
    var stages: [Lane: Stage] = [:]
    var stagesToSync: [UInt32: File] = [:]
    /// Payloads staged and not recorded yet, by data file: a file with any must stay.
    var unrecorded: [UInt32: Int] = [:]
    var files: [UInt32: File]
    /// What the bytes of data files must be.
    var sums: [UInt32: PayloadSums] = [:]
    var nextNumber: UInt32
    var cutMarks: UInt64
  }

  static let stageLimit: UInt64 = 256 << 20
  /// A larger payload goes to a staging file, so that the journal stays quick to replay.
  static let inlineLimit = 32 << 10

  let directory: String
  let state: Monitor<State>
  /// Who is told of what the disk did.
  let damage = DamageReport()
  /// Writes half of what is large.
  let halving = ForkJoin(name: "llvs-staging")
  /// Does what nothing waits for, or waits for later.
  let workers = WorkerPool(name: "llvs-journal")

  init(directory: String, state: sending State) {
    self.directory = directory
    self.state = Monitor(state)
  }

  static func journalName(_ number: UInt32) -> String { "\(padded(number)).journal" }
  static func stageName(_ number: UInt32) -> String { "\(padded(number)).stage" }

  private static func padded(_ number: UInt32) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 10 - digits.count)) + digits
  }

  // MARK: - Appending

  /// Appends a change to the buffer; call with the tree's lock held, so that the order of records is
  /// the order of changes.
  @discardableResult
  func append(_ change: Change) -> Position {
    let record = JournalFrame.record(change.encode)
    return state.withLock { s in
      s.buffer.append(contentsOf: record)
      s.appended += UInt64(record.count)
      s.metaBytes += UInt64(record.count)
      return s.appended
    }
  }

  /// The same of several changes, between which no other's record comes; says where each ends.
  func append(_ changes: [Change]) -> [Position] {
    let records = changes.map { JournalFrame.record($0.encode) }
    return state.withLock { s in
      records.map { record in
        s.buffer.append(contentsOf: record)
        s.appended += UInt64(record.count)
        s.metaBytes += UInt64(record.count)
        return s.appended
      }
    }
  }

  /// Appends bytes of a file inside the record itself and says where they will stand.
  func append(
    inline data: UnsafeRawBufferPointer, checksum: UInt64, inode: UInt64, start: UInt64,
    time: Attributes.Time, epoch: UInt64, flags: Change.WriteFlags
  ) -> (Extent, Position) {
    state.withLock { s in
      var extent = Extent(
        start: start, length: UInt64(data.count), offset: 0, source: s.generation)
      // A write record has one size, so where the bytes will stand is known before it is made.
      extent.offset =
        s.fileEnd + UInt64(s.buffer.count)
        + UInt64(JournalFrame.headerSize + Change.writeRecordSize)
      let change = Change.write(
        inode: inode, extent: extent, checksum: checksum, time: time, epoch: epoch, flags: flags)
      let record = JournalFrame.record(dataLength: data.count, change.encode)
      if s.buffer.isEmpty { s.buffer.reserveCapacity(record.count + data.count) }
      s.buffer.append(contentsOf: record)
      s.buffer.append(contentsOf: data)
      s.appended += UInt64(record.count + data.count)
      s.metaBytes += UInt64(record.count)
      s.sums[s.generation, default: PayloadSums()].add(
        Payload(offset: extent.offset, checksum: checksum, length: UInt32(data.count)))
      return (extent, s.appended)
    }
  }

  /// Appends the records of bytes that were staged, one for each payload, and says where each ends; `extent`
  /// covers them all.
  func append(
    staged extent: Extent, checksums: [UInt64], inode: UInt64, time: Attributes.Time,
    epoch: UInt64, flags: Change.WriteFlags
  ) -> [Position] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(
      checksums.count * (JournalFrame.headerSize + Change.writeRecordSize))
    for (index, checksum) in checksums.enumerated() {
      let from = extent.start + UInt64(index * Payload.blockSize)
      let change = Change.write(
        inode: inode,
        extent: extent.clipped(to: from..<min(from + UInt64(Payload.blockSize), extent.end)),
        checksum: checksum, time: time, epoch: epoch, flags: flags)
      bytes.append(contentsOf: JournalFrame.record(change.encode))
    }
    let size = checksums.isEmpty ? 0 : bytes.count / checksums.count
    return state.withLock { s in
      let start = s.appended
      s.buffer.append(contentsOf: bytes)
      s.appended += UInt64(bytes.count)
      s.metaBytes += UInt64(bytes.count)
      return checksums.indices.map { start + UInt64(($0 + 1) * size) }
    }
  }

  /// Writes everything up to `position` to the kernel; one thread writes for all that wait.
  func commit(through position: Position) throws(FSError) {
    while true {
      enum Step {
        case done
        case resume
        case recover
        case write(File, [UInt8], UInt64)
      }
      let step: Step? = state.wait { s -> Step? in
        if s.written >= position { return .done }
        if s.failure != nil { return .recover }
        if s.isWriting { return nil }
        if s.unbegun != nil { return .resume }
        s.isWriting = true
        let bytes = s.buffer
        s.buffer = []
        let at = s.fileEnd
        s.fileEnd += UInt64(bytes.count)
        return .write(s.file, bytes, at)
      }
      if case .resume? = step {
        try resume()
        continue
      }
      if case .recover? = step {
        try recover()
        continue
      }
      guard case .write(let file, let bytes, let at)? = step else { return }
      var failure: SystemError?
      do throws(SystemError) {
        try file.write(bytes, at: at)
      } catch {
        failure = error
      }
      let room = state.withLock { s -> Range<UInt64>? in
        if failure == nil {
          s.written += UInt64(bytes.count)
          s.writtenEnd = at + UInt64(bytes.count)
          s.isRefused = false
        } else {
          s.isRefused = true
          // The same bytes go to the same place when anybody tries again.
          s.buffer = bytes + s.buffer
          s.fileEnd = at
        }
        let room = failure == nil ? Self.room(s) : nil
        s.isWriting = room != nil
        return room
      }
      state.broadcast()
      if let room { makeRoom(room, in: file) }
      if let failure { throw FSError.system(failure) }
    }
  }

  /// Waits until extents' bytes are with the kernel: those of earlier files and staging files are.
  func commit(_ extents: [Extent]) throws(FSError) {
    guard extents.contains(where: { $0.source != Extent.base }) else { return }
    let target = state.withLock { s -> Position? in
      let waits = extents.contains {
        $0.source == s.generation && $0.offset + $0.length > s.writtenEnd
      }
      return waits ? s.appended : nil
    }
    if let target { try commit(through: target) }
  }

  /// An open data file by its number.
  func file(_ number: UInt32) -> File? {
    state.withLock { $0.files[number] }
  }

  // MARK: - Durability

  /// What one sync brings to the disk.
  private struct Work {
    var file: File
    var generation: UInt32
    var stages: [UInt32: File]
    var position: Position
    var end: UInt64
  }

  /// Brings everything recorded so far to the disk.
  ///
  /// One thread syncs at a time: a second one must not take the first one's unfinished work as done.
  func sync() throws(FSError) {
    let (target, losses) = state.withLock { ($0.appended, $0.healing.losses) }
    try commit(through: target)
    enum Step {
      case done
      case resume
      case recover
      case sync(Work)
    }
    let step: Step? = state.wait { s -> Step? in
      if s.failure != nil { return .recover }
      if s.syncedPosition >= target { return .done }
      if s.isSyncing { return nil }
      if s.unbegun != nil { return .resume }
      s.isSyncing = true
      defer { s.stagesToSync = [:] }
      return .sync(
        Work(
          file: s.file, generation: s.generation, stages: s.stagesToSync, position: s.written,
          end: s.writtenEnd))
    }
    switch step {
    case nil, .done?:
      // Bytes that could not be written anew may be those that were to be synced.
      if let lost = state.withLock({ $0.healing.losses == losses ? nil : $0.healing.lastFailure }) {
        throw .system(lost)
      }
    case .resume?:
      // What was recorded before stands in it, and it is on the disk when this returns.
      try resume()
      try sync()
    case .recover?:
      try recover()
      if let lost = state.withLock({ $0.healing.losses == losses ? nil : $0.healing.lastFailure }) {
        throw .system(lost)
      }
      try sync()
    case .sync(let work)?:
      do throws(SystemError) {
        try sync(work)
      } catch {
        // Told here all the same: it was this sync that failed.
        try? recover()
        throw .system(error)
      }
    }
  }

  private func sync(_ work: Work) throws(SystemError) {
    defer {
      state.withLock { $0.isSyncing = false }
      state.broadcast()
    }
    do throws(SystemError) {
      for stage in work.stages.values { try stage.syncData() }
      try work.file.syncData()
    } catch {
      // fsyncgate: after a failed sync nothing is known of the pages; never ask again.
      fail(error, givingUp: Set(work.stages.keys).union([work.generation]))
      throw error
    }
    let mark = JournalFrame.record(Change.synced(end: work.end).encode)
    state.withLock { s in
      let count = work.position - min(work.position, s.syncedPosition)
      if count <= Self.smallSync { s.smallSyncs += 1 }
      s.syncedPosition = max(s.syncedPosition, work.position)
      guard s.file === work.file else { return }
      // Only tells a torn tail from damage when it is replayed, so it need not be on the disk itself.
      let isAllDurable = s.syncedPosition == s.appended
      s.buffer.append(contentsOf: mark)
      s.appended += UInt64(mark.count)
      if isAllDurable { s.syncedPosition = s.appended }
    }
  }

  /// Whether a checkpoint would hardly save anything.
  var isSmall: Bool {
    state.withLock { $0.stages.isEmpty && $0.fileEnd + UInt64($0.buffer.count) < 256 << 10 }
  }

  /// Whether something recorded is not on the disk yet.
  var hasUnsynced: Bool {
    state.withLock { $0.syncedPosition < $0.appended }
  }
}

extension LiveTree {
  /// The size of the journal file as far as it is recorded.
  package var journalEnd: UInt64 {
    journal.state.withLock { $0.fileEnd + UInt64($0.buffer.count) }
  }
}
