package import LLVSCore
import Platform

// Journals that are not open: on a full disk, for a check, and for a copy.

extension Journal {
  /// Frees all that holds no record: the reserve, room, and unfinished files. The caller holds the store's lock.
  package static func giveUpRoom(in directory: String) {
    _ = Reserve.giveUp(in: directory)
    guard let status = try? FileSystem.status(directory, following: false),
      status.kind == .directory, let names = try? FileSystem.list(directory)
    else { return }
    for name in names {
      let path = "\(directory)/\(name)"
      if name.hasSuffix(".journal.tmp") {
        try? FileSystem.unlink(path)
      } else if JournalFile.number(name) != nil || DataFiles.stageNumber(name) != nil {
        // Space that cannot be freed stays until the file is removed.
        guard let file = try? File.regular(path, .readWrite), let size = try? file.status().size
        else { continue }
        try? file.truncate(to: size)
      }
    }
  }

  /// Returns the faults of a journal's header, which may be open, as sentences without period. `lastCut` is called
  /// after the header is read, because versions may be made concurrently. Throws ``StoreError/system(_:)``,
  /// ``StoreError/fromTheFuture(_:)``.
  package static func faults(
    in directory: String, of storeID: [UInt8], lastCut: () throws(StoreError) -> UInt64
  ) throws(StoreError) -> [String] {
    guard let file = try newestFile(in: directory) else { return [] }
    let reader: JournalReader
    do throws(StoreError) {
      reader = try JournalReader(file, bootID: [])
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      return [reason]
    }
    var faults: [String] = []
    if reader.isMended {
      faults.append("\(file.path): a copy of the header was damaged; mounting the store repairs it")
    }
    guard reader.header.storeID == storeID else {
      return faults + ["\(file.path) belongs to another store"]
    }
    let last = try lastCut()
    if reader.header.cut > last {
      faults.append(
        "the store is older than its journal, which knows of cut \(reader.header.cut) where the store has \(last)"
      )
    }
    return faults
  }

  /// Reads a journal that no process has open, without changing it; nil if there is none. Throws as
  /// ``open(_:owner:lastCut:report:)``, and ``StoreError/corrupt(_:)`` for a journal without a header.
  package static func read(
    _ directory: String, owner: JournalOwner, lastCut: UInt64
  ) throws(StoreError) -> OpenedJournal? {
    guard let file = try newestFile(in: directory) else { return nil }
    let names = try StoreError.translating(try FileSystem.list(directory))
    guard let number = names.compactMap(JournalFile.number).max() else { return nil }
    return try replay(
      file, number, names, in: directory, owner: owner, lastCut: lastCut, isReadOnly: true
    ) { _ in }
  }

  private static func newestFile(in directory: String) throws(StoreError) -> File? {
    do throws(SystemError) {
      guard try FileSystem.exists(directory),
        let newest = try FileSystem.list(directory).compactMap(JournalFile.number).max()
      else { return nil }
      // Opening another kind, such as a pipe, could wait.
      let path = "\(directory)/\(JournalFile.name(newest))"
      guard try FileSystem.status(path, following: false).kind == .regular else {
        throw SystemError(errno: Errno.tooManySymlinks, call: "open", subject: path)
      }
      return try File.regular(path, .read)
    } catch {
      // An open journal may have been renewed.
      if error.errno == Errno.noEntry { return nil }
      throw .system(error)
    }
  }

  /// Copies a journal that may be open, as a power failure could leave it, to a new directory; false if it was
  /// renewed or lost a file concurrently, which makes the copy useless.
  package static func copy(_ directory: String, to target: String) throws(StoreError) -> Bool {
    do throws(SystemError) {
      guard try FileSystem.exists(directory) else { return true }
      try FileSystem.makeDirectory(target, permissions: 0o700)
      let names = try FileSystem.list(directory)
      let newest = names.compactMap(JournalFile.number).max()
      // A record names bytes that are in data files already, so these are copied after it.
      if let newest {
        let name = JournalFile.name(newest)
        try File.regular("\(directory)/\(name)", .read).copy(to: "\(target)/\(name)")
      }
      for name in try FileSystem.list(directory) {
        let number = JournalFile.number(name)
        guard number ?? DataFiles.stageNumber(name) != nil, number == nil || number != newest else {
          continue
        }
        try File.regular("\(directory)/\(name)", .read).copy(to: "\(target)/\(name)")
      }
      try FileSystem.syncDirectory(target)
      let left = try FileSystem.list(directory)
      return newest == left.compactMap(JournalFile.number).max() && Set(left).isSuperset(of: names)
    } catch {
      if error.errno == Errno.noEntry { return false }
      throw .system(error)
    }
  }
}
