internal import Platform

/// Opening and making a store.
///
/// INVARIANT S4: a store has one writer at a time; its open file has an exclusive lock on `STORE/lock`. A process
/// that waits for it is in the queue of `STORE/turn`, where a writer that takes turns sees it (SharedStore). The
/// process id in the file is for messages only. The writer also locks the store's directory, since a user may
/// remove `lock` after a crash: a process that creates the file again must not get the store. Readers have a shared
/// lock on `STORE/readers`; a missing one does no harm on a read-only disk. On a network or user-space file system,
/// locks and SQLite's shared memory may work on one machine only. There a writer is refused unless forced, and a
/// reader uses neither but reads complete copies of the databases (ReadableCopy).
extension Store {
  /// Opens a store.
  ///
  /// With `create`, makes a store if the directory is missing or empty. `isForced` treats a network or user-space
  /// file system as a disk. If the disk is too full to open a store for writing, `makeRoom` is called, with the
  /// store's path and its lock held, to free space. A writer waits up to `patience`, in nanoseconds, for another
  /// one that has announced that it is finishing.
  package static func open(
    path given: String, mode: AccessMode = .writer, create: Bool = false, isForced: Bool = false,
    patience: UInt64 = 0, makeRoom: ((String) -> Void)? = nil
  ) throws(StoreError) -> Store {
    let isMade = create ? try makeDirectory(given) : false
    let path = try resolved(given)
    var isTrusted = isForced
    do throws(StoreError) {
      if !isForced { isTrusted = try isReliable(path, mode) }
    } catch {
      // A directory that cannot be a store is removed again.
      if isMade { try? FileSystem.removeDirectory(path) }
      throw error
    }
    let isNew = try StoreError.translating(try !FileSystem.exists("\(path)/store.sqlite"))
    if isNew {
      guard create, mode == .writer else { throw .notFound("store in \(path)") }
      try refuseForeign(path)
    }
    let (lockFile, canWrite) =
      try mode == .writer
      ? (writerLock(path, patience: patience), true) : readerLock(path, isTrusted: isTrusted)
    let directoryLock = try mode == .writer ? lockedDirectory(path) : nil
    let (copy, logFaults) = try examinedLog(of: path, mode: mode, canWrite: canWrite)
    let databases = copy?.path ?? path
    // A reader writes nothing in the replica's name, and a backup has no lock yet.
    let identity = try mode == .writer ? identity(of: lockFile, in: path) : []
    // An existing catalog may be empty too, if its creation was interrupted.
    let fresh: [String: [UInt8]]? =
      create && mode == .writer
      ? [
        "store": SystemRandom.bytes(16), "replica": Array(newReplicaID().utf8),
        "identity": identity,
      ] : nil
    try makeSegments(path, isMissingAllowed: fresh == nil)
    if mode == .writer { try ensureRoom(path, makeRoom: makeRoom) }
    let catalog = try Catalog(
      path: "\(databases)/store.sqlite", mode: mode, creating: fresh, witness: try witness(in: path)
    )
    if catalog.isNew { try makeDurable(path) }

    let mended = try logFaults + (mode == .writer ? mend(catalog) : [])
    var (storeID, replica, known, state) = try catalog.read { (database) throws(StoreError) in
      let storeID = try database.property("store")
      let replica = try database.property("replica")
      let known = try database.property("identity")
      return (storeID, replica, known, try loadState(database))
    }
    state.mended = mended
    guard let storeID, storeID.count == 16, let replica else {
      throw .corrupt("\(path)/store.sqlite: the store's own id is missing")
    }
    var replicaID = String(decoding: replica, as: UTF8.self)
    if known != identity, mode == .writer {
      // The directory was copied or restored: the old id belongs to the original.
      let renamed = newReplicaID()
      replicaID = renamed
      try catalog.write { (database) throws(StoreError) in
        try database.setProperty("replica", Array(renamed.utf8))
        try database.setProperty("identity", identity)
      }
    }
    let files = SegmentFiles(directory: "\(path)/segments", store: storeID)
    if mode == .writer { try files.removeParts() }
    let next = (try files.numbers().last ?? 0) + 1
    let records = RecordStore(
      files: files, next: next, gone: GoneRecords(catalog: catalog, mode: mode))
    let index = try Index(path: "\(databases)/index.sqlite", mode: mode, storeID: storeID)
    if mode == .writer, let lost = lostVersions(index, state.lastNumber) {
      state.mended.append(lost)
      try index.forget(after: state.lastNumber)
    }
    let store = try Store(
      path: path, mode: mode, storeID: storeID, replicaID: replicaID, catalog: catalog,
      records: records, index: index, lockFile: lockFile, directoryLock: directoryLock, copy: copy,
      state: state)
    if mode == .writer { try store.catchUpIndex() }
    return store
  }

  /// Repairs damaged rows from their copies.
  private static func mend(_ catalog: Catalog) throws(StoreError) -> [String] {
    let isNeeded = try catalog.read { (database) throws(StoreError) in try database.needsMending() }
    guard isNeeded else { return [] }
    do throws(StoreError) {
      return try catalog.write { (database) throws(StoreError) in try database.mend() }
    } catch {
      // On a full disk the store can still be read, from the unrepaired copies.
      if case .corrupt = error { throw error }
      return []
    }
  }

  private static func resolved(_ path: String) throws(StoreError) -> String {
    do throws(SystemError) {
      return try FileSystem.resolve(path)
    } catch {
      if error.errno == Errno.noEntry { throw .notFound("store in \(path)") }
      throw .system(error)
    }
  }

  /// Makes a store's directory if the path does not exist; returns true if it did.
  private static func makeDirectory(_ path: String) throws(StoreError) -> Bool {
    try StoreError.wrapping { () throws(SystemError) in
      if try FileSystem.exists(path) { return false }
      try FileSystem.makeDirectory(path, permissions: 0o700)
      return true
    }
  }

  /// Returns true if locks on the file system exclude all other processes.
  /// - Throws: ``StoreError/unreliable(_:)`` if they do not and the store is opened for writing.
  private static func isReliable(_ path: String, _ mode: AccessMode) throws(StoreError) -> Bool {
    let unreliable = try StoreError.translating(try FileSystem.fileSystem(of: path).unreliableKind)
    guard let unreliable else { return true }
    guard mode == .writer else { return false }
    throw .unreliable(
      "\(path) is on \(unreliable), where a store is not safe: locks and syncs are not reliable there; "
        + "--force, or mount with -o force, uses it anyway")
  }

  private static func refuseForeign(_ path: String) throws(StoreError) {
    let own: Set = [
      "lock", "readers", "turn", "segments", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm",
      "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-journal", "lost+found",
    ]
    let foreign = try StoreError.translating(try FileSystem.list(path).first { !own.contains($0) })
    if let foreign { throw .exists("\(path) is neither a store nor empty: it holds \(foreign)") }
  }

  private enum WriterLock {
    case taken(File)
    /// Another process has the lock; `process` is nil if the file does not say which.
    case held(process: UInt32?, isFinishing: Bool)
  }

  private static func writerLock(_ path: String, patience: UInt64) throws(StoreError) -> File {
    let start = SystemClock.monotonic()
    while true {
      let lock = try StoreError.translating(try takeWriterLock(path))
      switch lock {
      case .taken(let file): return file
      case .held(_, isFinishing: true) where SystemClock.monotonic() - start < patience:
        SystemClock.sleep(nanoseconds: 100_000_000)
      case .held(let process, let isFinishing):
        let holder = process.map { "\($0)" } ?? "?"
        let note = isFinishing ? ", which is finishing" : ""
        throw .busy("\(path) is in use by process \(holder)\(note)")
      }
    }
  }

  private static func takeWriterLock(_ path: String) throws(SystemError) -> WriterLock {
    let file = try File.kept("\(path)/lock", [.readWrite, .create, .noFollow])
    var isTaken = try file.lock(.exclusive)
    if !isTaken {
      // A holder that takes turns sees the queue; a forked child may hold the lock briefly.
      let queue = try? TurnQueue(of: path)
      let isNext = (try? queue?.tryEnter()) ?? false
      defer { if isNext { queue?.leave() } }
      for _ in 0..<100 where !isTaken {
        SystemClock.sleep(nanoseconds: 2_000_000)
        isTaken = try file.lock(.exclusive)
      }
    }
    guard isTaken else {
      let text = String(decoding: try file.read(64, at: 0), as: UTF8.self)
      let words = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
      return .held(
        process: words.first.flatMap { UInt32($0) },
        isFinishing: words.contains(Substring(finishingMark)))
    }
    // The text is for people; a full disk may have no space for it.
    let text = Array("\(SystemProcess.id)\n".utf8)
    do throws(SystemError) {
      try file.write(text, at: 0)
      try file.truncate(to: UInt64(text.count))
    } catch {
      guard error.isFull else { throw error }
    }
    return .taken(file)
  }

  private static func lockedDirectory(_ path: String) throws(StoreError) -> File {
    let locked = try StoreError.wrapping { () throws(SystemError) -> File? in
      let directory = try File(path, [.read, .directory])
      // A child before its exec may have the lock briefly, as above.
      for _ in 0..<20 {
        if try directory.lockEntirely() { return directory }
        SystemClock.sleep(nanoseconds: 10_000_000)
      }
      return nil
    }
    guard let locked else {
      throw .busy(
        "\(path) is in use by a process whose lock file has been removed or replaced since")
    }
    return locked
  }

  /// Writes into the lock file that the holder is about to release it.
  package func announceFinishing() { writeHolder(" \(Self.finishingMark)\n") }

  /// Writes the result of the session into the lock file; these bytes fit even on a full disk.
  package func announceEnd(_ end: LastWriterStatus) {
    writeHolder(" \(Self.finishingMark)\n\(end.text)")
  }

  /// Writes the mounted device into the lock file, so that a mount can be matched with the store.
  package func announceMount(device: String) { writeHolder("\n\(Self.deviceMark)\(device)\n") }

  package static func device(inLock text: String) -> String? {
    let line = text.split(separator: "\n").first { $0.hasPrefix(deviceMark) }
    return line.map { String($0.dropFirst(deviceMark.count)) }
  }

  private static var deviceMark: String { "device " }
  private static var finishingMark: String { "finishing" }

  /// Returns the id of the process that mounts a store, from the lock file; nil if none does.
  static func mounter(of path: String) throws(StoreError) -> String? {
    try StoreError.wrapping { () throws(SystemError) in
      guard try FileSystem.exists("\(path)/lock") else { return nil }
      let file = try File.regular("\(path)/lock", .read)
      let text = String(decoding: try file.read(256, at: 0), as: UTF8.self)
      guard device(inLock: text) != nil else { return nil }
      // The text of an ended process remains, so the lock itself decides.
      if try file.lock(.shared) {
        file.unlock()
        return nil
      }
      return text.split(whereSeparator: { $0 == " " || $0 == "\n" }).first.map(String.init) ?? "?"
    }
  }

  private func writeHolder(_ words: String) {
    let text = Array("\(SystemProcess.id)\(words)".utf8)
    guard (try? lockFile.write(text, at: 0)) != nil else { return }
    try? lockFile.truncate(to: UInt64(text.count))
  }

  /// The lock file, and true if the disk is writable, not full, and locks exclude others; else read copies.
  private static func readerLock(
    _ path: String, isTrusted: Bool
  ) throws(StoreError) -> (file: File, canWrite: Bool) {
    let lock = "\(path)/readers"
    return try StoreError.wrapping { () throws(SystemError) in
      guard isTrusted else { return (try File(path, [.read, .directory]), false) }
      var (file, canWrite): (File, Bool)
      do throws(SystemError) {
        (file, canWrite) = (try File.kept(lock, [.readWrite, .create, .noFollow]), true)
      } catch {
        guard error.errno == Errno.readOnlyFileSystem || error.isFull else { throw error }
        guard try FileSystem.exists(lock) else {
          return (try File(path, [.read, .directory]), false)
        }
        (file, canWrite) = (try File.regular(lock, .read), false)
      }
      if canWrite { canWrite = try hasRoomToRead(path) }
      _ = try file.lock(.shared, waiting: true)
      return (file, canWrite)
    }
  }

  /// Returns the identity of this directory, which a copy lacks: its inode and that of the file `lock`.
  private static func identity(of lock: File, in path: String) throws(StoreError) -> [UInt8] {
    try StoreError.wrapping { () throws(SystemError) in
      let directory = try FileSystem.status(path)
      let file = try FileSystem.status("\(path)/lock")
      var bytes: [UInt8] = []
      bytes.append(bigEndian: directory.inode)
      bytes.append(bigEndian: file.inode)
      return bytes
    }
  }

  private static func makeSegments(_ path: String, isMissingAllowed: Bool) throws(StoreError) {
    let segments = "\(path)/segments"
    try StoreError.wrapping { () throws(SystemError) in
      if try !FileSystem.exists(segments) {
        if !isMissingAllowed { try FileSystem.makeKeptDirectory(segments) }
        return
      }
      // A link would redirect writes to another place.
      guard try FileSystem.status(segments, following: false).kind == .directory else {
        throw SystemError(errno: Errno.notDirectory, call: "lstat", subject: segments)
      }
    }
  }

  /// Returns a file that proves that the store had a catalog; nil if none does.
  private static func witness(in path: String) throws(StoreError) -> String? {
    try StoreError.wrapping { () throws(SystemError) in
      for (directory, ending) in [("segments", ".seg"), ("journal", ".journal")]
      where try FileSystem.exists("\(path)/\(directory)") {
        let names = try FileSystem.list("\(path)/\(directory)")
        if let name = names.first(where: { $0.hasSuffix(ending) }) { return "\(directory)/\(name)" }
      }
      return nil
    }
  }

  private static func makeDurable(_ path: String) throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      try FileSystem.syncDirectory("\(path)/segments")
      try FileSystem.syncDirectory(path)
      try FileSystem.syncDirectory(FileSystem.directory(of: path))
    }
  }

  static func newReplicaID() -> String { SystemRandom.hex(16) }
}
