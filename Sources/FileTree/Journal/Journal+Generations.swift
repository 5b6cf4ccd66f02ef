import LLVS
import Platform

// Beginning a generation: the checkpoint that lets older records go.

extension Journal {
  /// Begins the first generation of a directory without one.
  static func create(in directory: String, header: JournalHeader) throws(StoreError) -> Journal {
    do throws(SystemError) {
      if try !FileSystem.exists(directory) {
        try FileSystem.makeDirectory(directory, permissions: 0o700)
        try FileSystem.syncDirectory(FileSystem.directory(of: directory))
      }
      let bytes = frame(header)
      let path = "\(directory)/\(journalName(1))"
      try FileSystem.replace(path, with: bytes, permissions: 0o600)
      let file = try File(path, .readWrite)
      let end = UInt64(bytes.count)
      return Journal(
        directory: directory,
        state: State(
          generation: 1, file: file, fileEnd: end, writtenEnd: end, allocated: end,
          files: [1: file], nextNumber: 2, cutMarks: header.cut))
    } catch {
      throw .system(error)
    }
  }

  static func frame(_ header: JournalHeader) -> [UInt8] {
    let meta = header.encoded()
    return JournalFrame.header(meta: meta, dataLength: 0) + meta
  }

  /// A generation's file that nothing is in yet.
  struct Preparation {
    let file: File
    let number: UInt32
    fileprivate let allocated: UInt64
  }

  /// Makes the file of the next generation, with room for what is expected to be in it, so that a full
  /// disk is met before anything has changed. ``discard(_:)`` or ``begin(_:locked:gather:)`` must follow.
  func prepareGeneration(expecting bytes: Int) throws(FSError) -> Preparation {
    // Most of what has to be on the disk goes there while everybody works.
    try sync()
    let number = state.withLock { s in
      defer { s.nextNumber += 1 }
      return s.nextNumber
    }
    let path = "\(directory)/\(Self.journalName(number)).tmp"
    do throws(SystemError) {
      let file = try File(path, [.readWrite, .create, .truncate], permissions: 0o600)
      let room = UInt64(bytes) * 2 + (4 << 20)
      do throws(SystemError) {
        try file.allocate(0..<room, keepingSize: true)
      } catch {
        guard error.errno == Errno.notSupported else { throw error }
      }
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

  /// Puts a prepared generation in place of the current one.
  ///
  /// - Parameters:
  ///   - preparation: what ``prepareGeneration(expecting:)`` made.
  ///   - locked: runs its argument with the tree's lock held.
  ///   - gather: called with that lock held; what it returns is what every later record is made on.
  /// - Throws: ``FSError/system(_:)``; the journal then refuses everything, and the next mount finds the
  ///   old generation or the new one, whole.
  func begin(
    _ preparation: Preparation, locked: (() -> Void) -> Void, gather: @escaping () -> Checkpoint
  ) throws(FSError) {
    // Nobody else writes from here on: whoever commits waits until the generation stands.
    _ = state.wait { s -> Bool? in
      if s.isWriting || s.isSyncing { return nil }
      s.isWriting = true
      s.isSyncing = true
      return true
    }
    defer {
      state.withLock { s in
        s.isWriting = false
        s.isSyncing = false
      }
      state.broadcast()
    }
    let (file, number) = (preparation.file, preparation.number)
    var content: [UInt8] = []
    var keep: Set<UInt32> = [number]
    var tail: (bytes: [UInt8], file: File, at: UInt64) = ([], file, 0)
    var stages: [UInt32: File] = [:]
    var position: Position = 0
    var failed: SystemError?
    locked {
      let checkpoint = gather()
      keep.formUnion(checkpoint.referenced)
      content = Self.frame(checkpoint.header)
      for change in checkpoint.changes {
        let meta = change.encoded()
        content += JournalFrame.header(meta: meta, dataLength: 0)
        content += meta
      }
      state.withLock { s in
        failed = s.failure
        tail = (s.buffer, s.file, s.fileEnd)
        s.fileEnd = UInt64(content.count)
        s.writtenEnd = 0
        s.buffer = []
        s.file = file
        s.files[number] = file
        s.generation = number
        s.allocated = preparation.allocated
        stages = s.stagesToSync
        s.stagesToSync = [:]
        position = s.appended
        // Whatever is recorded from here on is staged already, or goes to a staging file that stays.
        keep.formUnion(s.unrecorded.keys)
        if s.stage != nil, !keep.contains(s.stageNumber) { s.stage = nil }
      }
    }
    do throws(SystemError) {
      if let failed { throw failed }
      // Bytes inside the old generation's last records may be referred to still.
      if !tail.bytes.isEmpty { try tail.file.write(tail.bytes, at: tail.at) }
      try tail.file.syncData()
      for stage in stages.values { try stage.syncData() }
      try file.write(content, at: 0)
      try file.syncData()
      try FileSystem.rename(file.path, to: "\(directory)/\(Self.journalName(number))")
      try FileSystem.syncDirectory(directory)
    } catch {
      state.withLock { $0.failure = $0.failure ?? error }
      throw .system(error)
    }
    let end = UInt64(content.count)
    let gone = state.withLock { s -> [UInt32: File] in
      s.written = max(s.written, position)
      s.writtenEnd = end
      s.syncedPosition = max(s.syncedPosition, position)
      let gone = s.files.filter { !keep.contains($0.key) && $0.key < number }
      for id in gone.keys { s.files[id] = nil }
      return gone
    }
    remove(gone)
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
