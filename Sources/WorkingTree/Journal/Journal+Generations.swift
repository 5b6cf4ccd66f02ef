import LLVSCore
import Platform
import TreeNames

// Beginning a generation: the checkpoint that lets older records go.

extension Journal {
  /// Begins the first generation of a directory without one.
  static func create(in directory: String, header: JournalHeader) throws(StoreError) -> Journal {
    try StoreError.wrapping { () throws(SystemError) in
      if try !FileSystem.exists(directory) {
        try FileSystem.makeKeptDirectory(directory)
        try FileSystem.syncDirectory(FileSystem.directory(of: directory))
      }
      let bytes = frame(header)
      let path = "\(directory)/\(journalName(1))"
      try FileSystem.replace(path, with: bytes, permissions: 0o600)
      let file = try File.regular(path, .readWrite)
      let end = UInt64(bytes.count)
      return Journal(
        directory: directory,
        state: State(
          generation: 1, file: file, fileEnd: end, writtenEnd: end, allocated: end,
          files: [1: file], nextNumber: 2, cutMarks: header.cut))
    }
  }

  static func frame(_ header: JournalHeader) -> [UInt8] {
    let meta = header.encoded()
    return JournalFrame.header(meta: meta, dataLength: 0) + meta
  }

  private static let largeFile: UInt64 = 1 << 20

  /// A generation's file that nothing is in yet.
  struct Preparation {
    let file: File
    let number: UInt32
    fileprivate let allocated: UInt64
  }

  /// Makes the file of the next generation, with room for what is expected to be in it, so that a full
  /// disk is met before anything has changed. ``discard(_:)`` or ``begin(_:locked:gather:)`` must follow.
  ///
  /// `bytes` is about how much that is; how much `exactly` is asked for on a disk that is nearly full.
  func prepareGeneration(
    expecting bytes: Int, exactly: () -> Int
  ) throws(FSError) -> Preparation {
    // Records never go from one generation into another that is not on the disk either.
    try resume()
    // Most of what has to be on the disk goes there while everybody works.
    try sync()
    return try prepareFile(expecting: bytes, exactly: exactly)
  }

  /// Makes the file of the next generation.
  func prepareFile(
    expecting bytes: Int, exactly: () -> Int
  ) throws(FSError) -> Preparation {
    let number = state.withLock { s in
      defer { s.nextNumber += 1 }
      return s.nextNumber
    }
    let path = "\(directory)/\(Self.journalName(number)).tmp"
    do throws(SystemError) {
      let file = try File.kept(path, [.readWrite, .create, .truncate])
      let room = try allocate(file, expecting: bytes, exactly: exactly)
      return Preparation(file: file, number: number, allocated: room)
    } catch {
      try? FileSystem.unlink(path)
      throw .system(error)
    }
  }

  /// Gives up a generation that was not begun.
  func discard(_ preparation: Preparation) {
    // One that cannot be removed now is removed at the next mount.
    try? FileSystem.unlink(preparation.file.path)
  }

  /// What a generation begins with.
  struct Checkpoint {
    var header: JournalHeader
    var changes: [Change]
    /// The data files that anything still refers to.
    var referenced: Set<UInt32>
  }

  /// The end of a generation that another follows.
  struct Tail: Sendable {
    let number: UInt32
    let bytes: [UInt8]
    let file: File
    let at: UInt64
  }

  /// A generation that is begun in memory: what has to be on the disk before its name.
  struct Unbegun: Sendable {
    let number: UInt32
    /// Its first records.
    let content: [UInt8]
    /// The data files that anything still refers to.
    var keep: Set<UInt32>
    /// The end of the file before it, with records that were not written.
    var tail: Tail?
    /// Staging files to be synced.
    var stages: [UInt32: File]
    /// Everything up to here stands in it.
    let position: Position

    /// The data files that have to be synced.
    var files: Set<UInt32> {
      Set(stages.keys).union(tail.map { [$0.number] } ?? [])
    }
  }

  /// Puts a prepared generation in place of the current one.
  ///
  /// - Parameters:
  ///   - preparation: what ``prepareGeneration(expecting:)`` made; nil where there was no room, so that
  ///     the generation is written by the next call that wants to record something.
  ///   - locked: runs its argument with the tree's lock held.
  ///   - gather: called with that lock held, also if this throws; what it returns is what every later
  ///     record is made on.
  /// - Throws: ``FSError/system(_:)``; the journal then refuses everything until a later call has written
  ///   the generation. After a failed sync of bytes that it refers to that call is ``recover()``.
  func begin(
    _ preparation: Preparation?, locked: (() -> Void) -> Void, gather: @escaping () -> Checkpoint
  ) throws(FSError) {
    try begin(preparation, heals: false, locked: locked, gather: gather)
  }

  /// The same, where `gather` may refuse with nil, and nothing has happened then; `heals` where a sync
  /// has failed, and all that is pending was written anew.
  func begin(
    _ preparation: Preparation?, heals: Bool, locked: (() -> Void) -> Void,
    gather: @escaping () -> Checkpoint?
  ) throws(FSError) {
    // Nobody else writes from here on: whoever commits waits until the generation stands.
    seize()
    defer { release() }
    var next: Unbegun?
    locked {
      guard let checkpoint = gather() else { return }
      var content = Self.frame(checkpoint.header)
      for change in checkpoint.changes {
        content += JournalFrame.record(change.encode)
      }
      next = state.withLock { s in
        keepSums(&s, checkpoint.changes)
        return switchOver(&s, preparation, content, checkpoint.referenced)
      }
    }
    guard let next, let preparation else { return }
    try FSError.wrapping { () throws(SystemError) in
      try complete(next, in: preparation.file, heals: heals)
    }
  }

  /// Forgets checksums of bytes that nothing refers to any more.
  private func keepSums(_ s: inout State, _ changes: [Change]) {
    var kept: [UInt32: PayloadSums] = [:]
    for case .sums(let source, let payloads) in changes {
      for payload in payloads { kept[source, default: PayloadSums()].add(payload) }
    }
    for source in Array(s.sums.keys) where s.unrecorded[source] == nil {
      s.sums[source] = kept[source]
    }
  }

  /// Lets records be made on a new generation, which is not on the disk yet.
  private func switchOver(
    _ s: inout State, _ preparation: Preparation?, _ content: [UInt8], _ referenced: Set<UInt32>
  ) -> Unbegun {
    let number = preparation?.number ?? s.nextNumber
    s.nextNumber = max(s.nextNumber, number + 1)
    var next = Unbegun(
      number: number, content: content, keep: referenced.union([number]),
      tail: Tail(number: s.generation, bytes: s.buffer, file: s.file, at: s.fileEnd), stages: [:],
      position: s.appended)
    // Whatever is recorded from here on is staged already, or goes to a staging file that stays.
    next.keep.formUnion(s.unrecorded.keys)
    // Bytes inside the old generation's last records may be referred to still.
    if !referenced.contains(s.generation) || s.healing.givenUp.contains(s.generation) {
      next.tail = nil
    }
    next.stages = s.stagesToSync.filter { next.keep.contains($0.key) }
    s.stagesToSync = [:]
    s.fileEnd = UInt64(content.count)
    s.metaBytes = UInt64(content.count)
    s.writtenEnd = 0
    s.zeroEnd = 0
    s.smallSyncs = 0
    s.renewalDue = max(Self.renewalSize, 4 * s.fileEnd)
    s.buffer = []
    if let preparation {
      s.file = preparation.file
      s.files[number] = preparation.file
      s.allocated = preparation.allocated
    }
    s.generation = number
    s.leaveStages { !next.keep.contains($0) }
    s.unbegun = next
    return next
  }

  /// Writes a generation that was begun in memory, where there is one.
  ///
  /// - Throws: ``FSError/system(_:)``; the next call tries again.
  func resume() throws(FSError) {
    guard state.withLock({ $0.unbegun != nil && $0.failure == nil }) else { return }
    seize()
    defer { release() }
    guard let next = state.withLock({ $0.failure == nil ? $0.unbegun : nil }) else { return }
    let path = "\(directory)/\(Self.journalName(next.number)).tmp"
    try FSError.wrapping { () throws(SystemError) in
      // Another file under the name: nothing is known of one whose sync failed.
      if try FileSystem.exists(path) { try FileSystem.unlink(path) }
      let file = try File.kept(path, [.readWrite, .create, .exclusive])
      let count = next.content.count
      let room = try allocate(file, expecting: count) { count }
      state.withLock { s in
        s.file = file
        s.files[next.number] = file
        s.allocated = room
      }
      try complete(next, in: file)
    }
  }

  func seize() {
    _ = state.wait { s -> Bool? in
      if s.isWriting || s.isSyncing { return nil }
      s.isWriting = true
      s.isSyncing = true
      return true
    }
  }

  func release() {
    state.withLock { s in
      s.isWriting = false
      s.isSyncing = false
    }
    state.broadcast()
  }

  /// Brings a generation to the disk, and what it refers to before it.
  private func complete(
    _ next: Unbegun, in file: File, heals: Bool = false
  ) throws(SystemError) {
    if !heals, let failed = state.withLock({ $0.failure }) { throw failed }
    if let tail = next.tail, !tail.bytes.isEmpty { try tail.file.write(tail.bytes, at: tail.at) }
    do throws(SystemError) {
      try next.tail?.file.syncData()
      for stage in next.stages.values { try stage.syncData() }
    } catch {
      // fsyncgate: nothing is known of these pages.
      fail(error, givingUp: next.files)
      throw error
    }
    try file.write(next.content, at: 0)
    try file.syncData()
    try FileSystem.rename(file.path, to: "\(directory)/\(Self.journalName(next.number))")
    try FileSystem.syncDirectory(directory)
    let gone = state.withLock { s -> [UInt32: File] in
      s.unbegun = nil
      s.written = max(s.written, next.position)
      s.writtenEnd = UInt64(next.content.count)
      s.syncedPosition = max(s.syncedPosition, next.position)
      let gone = s.files.filter { !next.keep.contains($0.key) && $0.key < next.number }
      for id in gone.keys {
        s.files[id] = nil
        s.sums[id] = nil
      }
      if heals { s.failure = nil }
      s.healing.givenUp.formIntersection(s.files.keys)
      return gone
    }
    remove(gone)
    if let tail = next.tail { Self.giveUpAllotted(tail.file) }
    makeReserve()
    close(gone)
  }

  /// Lets go of files that have no name any more: of large ones on a thread of its own, since the kernel
  /// then gives back the memory and the blocks of all their bytes.
  private func close(_ gone: [UInt32: File]) {
    let isLarge = gone.values.contains { ((try? $0.status())?.size ?? 0) > Self.largeFile }
    guard isLarge else { return }
    workers.run { withExtendedLifetime(gone) {} }
  }

  private func remove(_ gone: [UInt32: File]) {
    for id in gone.keys {
      // One that cannot be removed now is removed at the next mount.
      for name in [Self.journalName(id), Self.stageName(id)] {
        let old = "\(directory)/\(name)"
        if (try? FileSystem.exists(old)) == true { try? FileSystem.unlink(old) }
      }
    }
  }
}
