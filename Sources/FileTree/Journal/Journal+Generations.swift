import LLVS
import Platform

// Beginning a generation: the checkpoint that lets older records go.

extension Journal {
  /// Begins the first generation of a directory without one.
  static func create(in directory: String, header: JournalHeader) throws(StoreError) -> Journal {
    do throws(SystemError) {
      if try !FileSystem.exists(directory) {
        try FileSystem.makeDirectory(directory, permissions: 0o700)
      }
      let bytes = frame(header)
      let path = "\(directory)/\(journalName(1))"
      try FileSystem.replace(path, with: bytes)
      let file = try File(path, .readWrite)
      return Journal(
        directory: directory,
        state: State(
          generation: 1, file: file, fileEnd: UInt64(bytes.count), allocated: UInt64(bytes.count),
          files: [1: file], nextNumber: 2, cutMarks: header.cut))
    } catch {
      throw .system(error)
    }
  }

  static func frame(_ header: JournalHeader) -> [UInt8] {
    let meta = header.encoded()
    return JournalFrame.header(meta: meta, dataLength: 0) + meta
  }

  /// Puts a new generation in place of the current one.
  ///
  /// - Parameters:
  ///   - header: what stands at its head.
  ///   - gather: called with the tree's lock held by `locked`; returns the records and the data files
  ///     that anything still refers to.
  ///   - locked: runs its argument with the tree's lock held.
  /// - Throws: ``FSError/system(_:)``; the old generation then goes on.
  func beginGeneration(
    header: JournalHeader,
    locked: (() -> ([Change], Set<UInt32>)?) -> ([Change], Set<UInt32>)?,
    gather: @escaping () -> ([Change], Set<UInt32>)
  ) throws(FSError) {
    // Most of what has to be on the disk goes there while everybody works.
    try sync()
    let number = state.withLock { s in
      defer { s.nextNumber += 1 }
      return s.nextNumber
    }
    let path = "\(directory)/\(Self.journalName(number))"
    let temporary = path + ".tmp"
    do throws(SystemError) {
      let file = try File(temporary, [.readWrite, .create, .truncate], permissions: 0o600)
      try switchTo(file, number: number, header: header, locked: locked, gather: gather)
      return
    } catch {
      throw .system(error)
    }
  }

  private func switchTo(
    _ file: File, number: UInt32, header: JournalHeader,
    locked: (() -> ([Change], Set<UInt32>)?) -> ([Change], Set<UInt32>)?,
    gather: @escaping () -> ([Change], Set<UInt32>)
  ) throws(SystemError) {
    // Nobody else writes from here on: whoever commits waits until the generation stands.
    _ = state.wait { s -> Bool? in
      if s.isWriting { return nil }
      s.isWriting = true
      return true
    }
    var content: [UInt8] = []
    var tail: ([UInt8], File, UInt64) = ([], file, 0)
    var stages: [UInt32: File] = [:]
    var position: Position = 0
    let gathered = locked {
      let (changes, referenced) = gather()
      content = Self.frame(header)
      for change in changes {
        let meta = change.encoded()
        content += JournalFrame.header(meta: meta, dataLength: 0)
        content += meta
      }
      state.withLock { s in
        tail = (s.buffer, s.file, s.fileEnd)
        s.fileEnd = UInt64(content.count)
        s.buffer = []
        s.file = file
        s.files[number] = file
        s.generation = number
        s.allocated = 0
        stages = s.stagesToSync
        s.stagesToSync = [:]
        position = s.appended
      }
      return (changes, referenced)
    }
    defer {
      state.withLock { $0.isWriting = false }
      state.broadcast()
    }
    do throws(SystemError) {
      // Bytes inside the old generation's last records may be referred to still.
      if !tail.0.isEmpty { try tail.1.write(tail.0, at: tail.2) }
      try tail.1.syncData()
      for stage in stages.values { try stage.syncData() }
      try file.write(content, at: 0)
      try file.syncData()
      try FileSystem.rename(file.path, to: "\(directory)/\(Self.journalName(number))")
      try FileSystem.syncDirectory(directory)
    } catch {
      state.withLock { $0.failure = $0.failure ?? error }
      throw error
    }
    let (_, referenced) = gathered ?? ([], [])
    let gone = state.withLock { s -> [UInt32: File] in
      s.written = max(s.written, position)
      s.syncedPosition = max(s.syncedPosition, position)
      var keep = referenced
      keep.insert(number)
      keep.formUnion(s.unrecorded.keys)
      if s.stage != nil, !keep.contains(s.stageNumber) { s.stage = nil }
      let gone = s.files.filter { !keep.contains($0.key) && $0.key < number }
      for id in gone.keys { s.files[id] = nil }
      return gone
    }
    for id in gone.keys {
      // One that cannot be removed now is removed at the next mount.
      for name in [Self.journalName(id), Self.stageName(id)] {
        let old = "\(directory)/\(name)"
        if (try? FileSystem.exists(old)) == true { try? FileSystem.unlink(old) }
      }
    }
  }
}
