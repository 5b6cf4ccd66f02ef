internal import Platform

/// Opening and making a store.
///
/// INVARIANT 4: one writer per store, which holds an exclusive lock of its open file on `STORE/lock` for
/// life. The process id inside serves the message only: a lock that can be taken is free, nothing else is
/// a takeover. It holds the store's directory locked besides, for `lock` looks like a file that may be
/// removed when a process has died: who makes it anew does not get the store. Readers hold a shared lock on
/// `STORE/readers`; on a disk that cannot be written, where nobody can take anything away from them, one that
/// is not there is not missed. On a network or user-space file system, where a lock may hold on one machine and
/// SQLite's shared memory does so at best, a writer is refused unless forced, and a reader leaves both alone:
/// it reads copies of the databases, which it knows to be whole (ReadableCopy).
extension Store {
  /// Opens a store.
  ///
  /// With `create`, makes one where the directory is not there or empty. `isForced` takes a network or
  /// user-space file system for a disk. `makeRoom` is called with the store's path and lock where the disk is too full
  /// to open a store for writing, to give back what can be spared.
  package static func open(
    path: String, mode: Mode = .writer, create: Bool = false, isForced: Bool = false,
    makeRoom: ((String) -> Void)? = nil
  ) throws(StoreError) -> Store {
    let store = Store(
      try parts(
        path: path, mode: mode, create: create, isForced: isForced, makeRoom: makeRoom))
    if mode == .writer {
      try store.catchUpIndex()
      try store.learnLinks()
    }
    return store
  }

  static func parts(
    path given: String, mode: Mode, create: Bool, isForced: Bool,
    makeRoom: ((String) -> Void)? = nil
  ) throws(StoreError) -> Parts {
    let isMade = create ? try makeDirectory(given) : false
    let path = try resolved(given)
    var isTrusted = isForced
    do throws(StoreError) {
      if !isForced { isTrusted = try isReliable(path, mode) }
    } catch {
      // Where no store may be, nothing is left behind.
      if isMade { try? FileSystem.removeDirectory(path) }
      throw error
    }
    let isNew = try !exists("\(path)/store.sqlite")
    if isNew {
      guard create, mode == .writer else { throw .notFound("store in \(path)") }
      try refuseForeign(path)
    }
    let (lockFile, canWrite) =
      try mode == .writer ? (writerLock(path), true) : readerLock(path, isTrusted: isTrusted)
    let directoryLock = try mode == .writer ? lockedDirectory(path) : nil
    let (copy, logFaults) = try readiedLog(of: path, mode: mode, canWrite: canWrite)
    let databases = copy?.path ?? path
    // Readers promise nothing in the replica's name, and a backup has no lock yet.
    let identity = try mode == .writer ? identity(of: lockFile, in: path) : []
    // Also for a store that is there: the making of it may have been interrupted.
    let fresh: [String: [UInt8]]? =
      create && mode == .writer
      ? [
        "store": SystemRandom.bytes(16), "replica": Array(newReplicaID().utf8),
        "identity": identity, Catalog.linksProperty: [1],
      ] : nil
    try makeSegments(path, isMissingAllowed: fresh == nil)
    if mode == .writer { try ensureRoom(path, makeRoom: makeRoom) }
    let catalog = try Catalog(
      path: "\(databases)/store.sqlite", mode: mode, creating: fresh, witness: try witness(in: path)
    )
    if catalog.isNew { try makeDurable(path) }

    let mended = try logFaults + (mode == .writer ? mend(catalog) : [])
    var (storeID, replica, known, state) = try catalog.read { (database) throws(StoreError) in
      let storeID = try catalog.property("store", in: database)
      let replica = try catalog.property("replica", in: database)
      let known = try catalog.property("identity", in: database)
      return (storeID, replica, known, try loadState(catalog, database))
    }
    state.mended = mended
    guard let storeID, storeID.count == 16, let replica else {
      throw .corrupt("\(path)/store.sqlite: the store's own id is missing")
    }
    var replicaID = String(decoding: replica, as: UTF8.self)
    if known != identity, mode == .writer {
      // The directory was copied or restored: what was promised in the old name holds for the original.
      let renamed = newReplicaID()
      replicaID = renamed
      try catalog.write { (database) throws(StoreError) in
        try catalog.setProperty("replica", Array(renamed.utf8), in: database)
        try catalog.setProperty("identity", identity, in: database)
      }
    }
    let files = SegmentFiles(directory: "\(path)/segments", store: storeID)
    let next = (try files.numbers().last ?? 0) + 1
    let records = RecordStore(files: files, next: next)
    let index = try Index(path: "\(databases)/index.sqlite", mode: mode, storeID: storeID)
    if mode == .writer, let lost = lostVersions(index, state.lastNumber) {
      state.mended.append(lost)
      try index.forget(after: state.lastNumber)
    }
    return Parts(
      path: path, mode: mode, storeID: storeID, replicaID: replicaID, catalog: catalog,
      records: records, index: index, counters: try Counters(catalog: catalog),
      lockFile: lockFile, directoryLock: directoryLock,
      openedFiles: try mode == .writer ? OpenedFiles(of: path) : nil, copy: copy, state: state)
  }

  /// Puts right what has a copy, where there is anything to put right.
  private static func mend(_ catalog: Catalog) throws(StoreError) -> [String] {
    let isNeeded = try catalog.read { (database) throws(StoreError) in
      try catalog.needsMending(in: database)
    }
    guard isNeeded else { return [] }
    do throws(StoreError) {
      return try catalog.write { (database) throws(StoreError) in
        try catalog.mend(in: database)
      }
    } catch {
      // A full disk does not keep a store from being read: copies are looked at without this, too.
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

  private static func exists(_ path: String) throws(StoreError) -> Bool {
    do throws(SystemError) {
      return try FileSystem.exists(path)
    } catch {
      throw .system(error)
    }
  }

  /// Makes a store's directory where nothing stands.
  ///
  /// - Returns: whether it was made.
  private static func makeDirectory(_ path: String) throws(StoreError) -> Bool {
    do throws(SystemError) {
      if try FileSystem.exists(path) { return false }
      try FileSystem.makeDirectory(path, permissions: 0o700)
      return true
    } catch {
      throw .system(error)
    }
  }

  /// Whether locks on a file system keep others out, whoever they are.
  ///
  /// - Throws: ``StoreError/unreliable(_:)`` where they do not, for who wants to write.
  private static func isReliable(_ path: String, _ mode: Mode) throws(StoreError) -> Bool {
    let unreliable: String?
    do throws(SystemError) {
      unreliable = try FileSystem.fileSystem(of: path).unreliableKind
    } catch {
      throw .system(error)
    }
    guard let unreliable else { return true }
    guard mode == .writer else { return false }
    throw .unreliable(
      "\(path) is on \(unreliable), where locks and syncs do not hold what a store needs; "
        + "--force, or mount with -o force, takes it all the same")
  }

  /// A directory with other people's files in it does not become a store.
  private static func refuseForeign(_ path: String) throws(StoreError) {
    let own: Set = [
      "lock", "readers", "segments", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm",
      "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-journal", "lost+found",
    ]
    do throws(SystemError) {
      if let foreign = try FileSystem.list(path).first(where: { !own.contains($0) }) {
        throw SystemError(errno: Errno.notEmpty, call: foreign)
      }
    } catch {
      guard error.errno == Errno.notEmpty else { throw .system(error) }
      throw .exists("\(path) is neither a store nor empty: it holds \(error.call)")
    }
  }

  private static func writerLock(_ path: String) throws(StoreError) -> File {
    do throws(SystemError) {
      let file = try File.kept("\(path)/lock", [.readWrite, .create, .noFollow])
      var isTaken = try file.lock(.exclusive)
      // A holder that has gone may live on for a moment in a child that it forked and that has not
      // reached its exec: an open file's lock is the child's too.
      for _ in 0..<20 where !isTaken {
        SystemClock.sleep(nanoseconds: 10_000_000)
        isTaken = try file.lock(.exclusive)
      }
      guard isTaken else {
        let text = String(decoding: try file.read(64, at: 0), as: UTF8.self)
        let words = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
        let holder = words.first.flatMap { UInt32($0) }.map { "\($0)" } ?? "?"
        throw SystemError(
          errno: Errno.busy,
          call: words.contains("finishing") ? "\(holder), which is finishing" : holder,
          subject: path)
      }
      // Words for people, which a full disk may not have room for.
      let text = Array("\(SystemProcess.id)\n".utf8)
      do throws(SystemError) {
        try file.write(text, at: 0)
        try file.truncate(to: UInt64(text.count))
      } catch {
        guard error.errno == Errno.noSpace || error.errno == Errno.quota else { throw error }
      }
      return file
    } catch {
      guard error.errno == Errno.busy else { throw .system(error) }
      throw .busy("\(path) is in use by process \(error.call)")
    }
  }

  /// The store's directory, locked.
  private static func lockedDirectory(_ path: String) throws(StoreError) -> File {
    do throws(SystemError) {
      let directory = try File(path, [.read, .directory])
      // A child that has not reached its exec may have it for a moment, as above.
      for _ in 0..<20 {
        if try directory.lockEntirely() { return directory }
        SystemClock.sleep(nanoseconds: 10_000_000)
      }
    } catch {
      throw .system(error)
    }
    throw .busy(
      "\(path) is in use by a process whose lock file has been removed or replaced since")
  }

  /// Says in the lock's text that the holder is about to let go, so that who wants the store waits.
  ///
  /// Only words for people and for who waits: the lock itself is what counts.
  package func announceFinishing() {
    noteHolder(" finishing\n")
  }

  /// Says in the lock's text how it ended, for who waits for that: on a disk that takes nothing else these bytes
  /// may still be written, and no reader of the log looks for them in vain.
  package func announceEnd(_ end: LastWriterStatus) {
    noteHolder(" finishing\n\(end.text)")
  }

  /// Says in the lock's text on which device of the kernel's this process shows the store, so that the two
  /// are known to belong together under whatever name the mount is listed.
  package func announceMount(device: String) {
    noteHolder("\n\(Self.deviceMark)\(device)\n")
  }

  /// The device that a text of the file `lock` names; nil where it names none.
  package static func device(inLock text: String) -> String? {
    let line = text.split(separator: "\n").first { $0.hasPrefix(deviceMark) }
    return line.map { String($0.dropFirst(deviceMark.count)) }
  }

  private static var deviceMark: String { "device " }

  private func noteHolder(_ words: String) {
    let text = Array("\(SystemProcess.id)\(words)".utf8)
    guard (try? lockFile.write(text, at: 0)) != nil else { return }
    try? lockFile.truncate(to: UInt64(text.count))
  }

  /// The lock, and whether the disk can be written; where locks keep nobody out, it is not: who reads there
  /// does so by copies.
  private static func readerLock(
    _ path: String, isTrusted: Bool
  ) throws(StoreError) -> (file: File, canWrite: Bool) {
    let lock = "\(path)/readers"
    do throws(SystemError) {
      guard isTrusted else { return (try File(path, [.read, .directory]), false) }
      let (file, canWrite): (File, Bool)
      do throws(SystemError) {
        file = try File.kept(lock, [.readWrite, .create, .noFollow])
        canWrite = true
      } catch {
        guard error.errno == Errno.readOnlyFileSystem else { throw error }
        guard try FileSystem.exists(lock) else {
          return (try File(path, [.read, .directory]), false)
        }
        (file, canWrite) = (try File.regular(lock, .read), false)
      }
      _ = try file.lock(.shared, waiting: true)
      return (file, canWrite)
    } catch {
      throw .system(error)
    }
  }

  /// Tells this directory from its copies: device, inode of the directory and of the file `lock`.
  private static func identity(of lock: File, in path: String) throws(StoreError) -> [UInt8] {
    do throws(SystemError) {
      let directory = try FileSystem.status(path)
      let file = try FileSystem.status("\(path)/lock")
      var bytes: [UInt8] = []
      bytes.append(bigEndian: directory.inode)
      bytes.append(bigEndian: file.inode)
      return bytes
    } catch {
      throw .system(error)
    }
  }

  /// Makes the directory of segments where it is not there.
  private static func makeSegments(
    _ path: String, isMissingAllowed: Bool
  ) throws(StoreError) {
    let segments = "\(path)/segments"
    do throws(SystemError) {
      if try !FileSystem.exists(segments) {
        if !isMissingAllowed { try FileSystem.makeKeptDirectory(segments) }
        return
      }
      // A link would lead what is written to another place.
      guard try FileSystem.status(segments, following: false).kind == .directory else {
        throw SystemError(errno: Errno.notDirectory, call: "lstat", subject: segments)
      }
    } catch {
      throw .system(error)
    }
  }

  /// A file that was made when the store had a catalog.
  private static func witness(in path: String) throws(StoreError) -> String? {
    do throws(SystemError) {
      for (directory, ending) in [("segments", ".seg"), ("journal", ".journal")]
      where try FileSystem.exists("\(path)/\(directory)") {
        let names = try FileSystem.list("\(path)/\(directory)")
        if let name = names.first(where: { $0.hasSuffix(ending) }) { return "\(directory)/\(name)" }
      }
      return nil
    } catch {
      throw .system(error)
    }
  }

  private static func makeDurable(_ path: String) throws(StoreError) {
    do throws(SystemError) {
      try FileSystem.syncDirectory("\(path)/segments")
      try FileSystem.syncDirectory(path)
      try FileSystem.syncDirectory(FileSystem.directory(of: path))
    } catch {
      throw .system(error)
    }
  }

  private static func newReplicaID() -> String { SystemRandom.hex(16) }
}
