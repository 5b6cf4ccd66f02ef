internal import Platform
internal import Synchronization

/// A directory as a remote: an object is a regular file.
///
/// INVARIANT 1: an object appears under its name only when all its bytes are durable.
/// INVARIANT 2: a file is written in a directory of this writer's own and then renamed, so a program that reads
/// every name in a folder finds whole objects only.
/// INVARIANT 3: only regular files are opened, never through a link in the store, and opening never blocks.
/// INVARIANT 4: a folder that was removed, replaced or covered by a mount during this object's use causes an error:
/// it is not read as an empty one, and nothing is written in its place.
package final class DirectoryStore: ObjectStore {
  private let path: String
  private let scratch: String
  private let control: TransferControl
  /// The prefix of this object's unfinished files; other objects of the writer do not touch them.
  let token = String(UInt64.random(in: .min ... .max), radix: 16)
  private let number = Atomic<UInt64>(0)
  private let isPrepared = Atomic<Bool>(false)
  /// The open folders, for looking up files by name. A leaf lock.
  private let opened = Mutex<[String: Folder]>([:])

  /// An open folder; a later directory of the same name has another place.
  private struct Folder {
    let file: File
    let place: FileStatus.Identity
  }

  /// The directory at its first use. A leaf lock.
  private let seen = Mutex<FileStatus.Identity?>(nil)

  private static let piece = 1 << 20
  /// A link there would lead to files of this process's user, who may not be the only user of the place.
  private static let ownDirectory: File.Mode = [.read, .directory, .noFollow]
  /// The longest time for removing unfinished files, in nanoseconds.
  private static let patience: UInt64 = 300_000_000

  /// The directory must exist at the first call; `scratch` names one in it for this writer's unfinished files.
  package init(path: String, scratch: String, control: TransferControl) {
    self.path = path
    self.scratch = "\(path)/\(scratch)"
    self.control = control
  }

  deinit {
    // The next use of the directory removes the remaining files.
    let end = SystemClock.monotonic() + Self.patience
    try? clear("\(token)-") { SystemClock.monotonic() < end }
  }

  /// Removes unfinished files with a prefix while `goesOn` is true, and then their directory if it is empty.
  private func clear(_ prefix: String, while goesOn: () -> Bool) throws(SystemError) {
    do throws(SystemError) {
      let directory = try File(scratch, Self.ownDirectory)
      for name in try FileSystem.list(directory) where name.hasPrefix(prefix) {
        guard goesOn() else { return }
        try FileSystem.unlink(name, in: directory)
      }
      try FileSystem.removeDirectory(scratch)
    } catch  where error.errno == Errno.noEntry {
    }
  }

  package var capabilities: StoreCapabilities { [.wholePuts, .move, .emptyObjects, .isNear] }

  package func prepare(_ folders: [String]) throws(RemoteError) {
    try control.check()
    try checkPlace()
    // Removes the files of an earlier use that crashed; later, puts may be in progress.
    if !isPrepared.exchange(true, ordering: .relaxed) {
      try translating(try clear("") { !control.isCancelled })
    }
    for folder in folders { try make(folder) }
  }

  package func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    try control.check()
    try checkPlace()
    guard let directory = try folder(prefix.folder) else { return ListPage(objects: []) }
    try checkFolder(prefix.folder)
    do throws(SystemError) {
      var page = ListPage(objects: [])
      for last in try FileSystem.list(directory.path) {
        guard let name = prefix.name(of: last), after.map({ name > $0 }) ?? true,
          let status = try status(last, in: directory)
        else { continue }
        switch status.kind {
        case .regular:
          page.objects.append(
            ListedObject(name: name, length: status.size, modified: status.modifiedSeconds))
        case .directory: page.folders.append(name)
        default: page.others.append(name)
        }
      }
      return page
    } catch {
      throw translated(error, prefix.description)
    }
  }

  package func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    try control.check()
    let (file, length) = try open(name)
    let range = range ?? 0..<UInt64.max
    var done: UInt64 = 0
    let size = min(control.piece(Self.piece), Int(clamping: length) + 1)
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(min(UInt64(size), range.length)), alignment: 16)
    defer { buffer.deallocate() }
    while done < range.length {
      let wanted = Int(min(UInt64(buffer.count), range.length - done))
      let count: Int
      do throws(SystemError) {
        let (start, overflows) = range.lowerBound.addingReportingOverflow(done)
        guard !overflows, start <= UInt64(Int64.max) else { break }
        count = try file.read(
          into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: start)
      } catch {
        throw translated(error, name.text)
      }
      guard count > 0 else { break }
      try control.receive(count)
      done += UInt64(count)
      guard try sink(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { break }
      // A regular file returns less only at its end.
      guard count == wanted else { break }
    }
    return done
  }

  private func open(_ name: ObjectName) throws(RemoteError) -> (file: File, length: UInt64) {
    guard let directory = try folder(name.folder) else {
      try checkPlace()
      throw absent(name)
    }
    do throws(SystemError) {
      // Opening a device can have an effect; opening a FIFO could block.
      guard let status = try status(name.last, in: directory) else {
        throw SystemError(errno: Errno.noEntry, call: "open")
      }
      guard status.kind == .regular else { throw SystemError(errno: Errno.invalid, call: "open") }
      let file = try File(name.last, in: directory, [.read, .nonBlocking, .noFollow])
      let opened = try file.status()
      guard opened.kind == .regular else { throw SystemError(errno: Errno.invalid, call: "open") }
      return (file, opened.size)
    } catch {
      switch error.errno {
      case Errno.noEntry:
        try checkPlace()
        try checkFolder(name.folder)
        throw absent(name)
      case Errno.invalid, Errno.tooManySymlinks:
        throw RemoteError(.denied, "not a regular file", object: name.text)
      default: throw translated(error, name.text)
      }
    }
  }

  private func status(_ last: String, in directory: File) throws(SystemError) -> FileStatus? {
    do throws(SystemError) {
      return try FileSystem.status(last, in: directory, following: false)
    } catch {
      guard error.errno == Errno.noEntry else { throw error }
      return nil
    }
  }

  package func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    try control.check()
    try checkPlace()
    try make(name.folder)
    let number = number.add(1, ordering: .relaxed).newValue
    let temporary = "\(token)-\(number)"
    let (scratch, file) = try created(temporary, for: name)
    do throws(RemoteError) {
      var offset: UInt64 = 0
      try body.read(pieces: control.piece(Self.piece)) { (piece) throws(RemoteError) in
        try control.send(piece.count)
        try translating(try file.write(piece, at: offset), name.text)
        offset += UInt64(piece.count)
      }
      try translating(try file.sync(), name.text)
      let folder = try openFolder(name.folder)
      try translating(
        try FileSystem.rename(temporary, in: scratch, to: name.last, in: folder), name.text)
    } catch {
      try? FileSystem.unlink(temporary, in: scratch)
      throw error
    }
    try sync(name.folder)
  }

  private func created(
    _ temporary: String, for name: ObjectName
  ) throws(RemoteError) -> (scratch: File, file: File) {
    try inScratch(name.text) { () throws(SystemError) in
      let directory = try File(scratch, Self.ownDirectory)
      return (directory, try Self.created(temporary, in: directory))
    }
  }

  /// Creates an unfinished file, for everybody whom the umask allows.
  static func created(_ name: String, in scratch: File) throws(SystemError) -> File {
    try File(
      name, in: scratch, [.readWrite, .create, .truncate, .noFollow], permissions: 0o666)
  }

  func openScratch() throws(RemoteError) -> File {
    try inScratch("") { () throws(SystemError) in try File(scratch, Self.ownDirectory) }
  }

  /// Opens something in the scratch directory; makes the directory if an earlier object has removed it.
  private func inScratch<Opened>(
    _ object: String, _ open: () throws(SystemError) -> Opened
  ) throws(RemoteError) -> Opened {
    var attempts = 3
    while true {
      do throws(SystemError) {
        if try !FileSystem.exists(scratch) {
          do throws(SystemError) {
            try FileSystem.makeDirectory(scratch)
          } catch  where error.errno == Errno.exists {
            // Another thread was first.
          }
        }
        return try open()
      } catch {
        attempts -= 1
        guard error.errno == Errno.noEntry, attempts > 0 else { throw translated(error, object) }
      }
    }
  }

  package func ownStaging(scratch: String) throws(RemoteError) -> (any ObjectStaging)? {
    try DirectoryStaging(self, control: control)
  }

  package func delete(_ name: ObjectName) throws(RemoteError) {
    try control.check()
    try checkPlace()
    guard let directory = try folder(name.folder) else { return }
    try checkFolder(name.folder)
    do throws(SystemError) {
      guard let status = try status(name.last, in: directory) else { return }
      guard status.kind == .regular else {
        throw SystemError(errno: Errno.invalid, call: "unlink", subject: name.text)
      }
      try FileSystem.unlink(name.last, in: directory)
    } catch {
      guard error.errno != Errno.noEntry else { return }
      throw translated(error, name.text)
    }
    try sync(name.folder)
  }

  package func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    try control.check()
    _ = try open(name)
    try make(target.folder)
    let (old, new) = ("\(path)/\(name.text)", "\(path)/\(target.text)")
    do throws(SystemError) {
      do throws(SystemError) {
        try FileSystem.rename(old, to: new, .exclusive)
      } catch  where error.errno == Errno.invalid || error.errno == Errno.notImplemented {
        // Some file systems lack RENAME_NOREPLACE.
        try FileSystem.link(old, to: new)
        try FileSystem.unlink(old)
      }
    } catch {
      switch error.errno {
      case Errno.exists: throw RemoteError(.exists, "the name is taken", object: target.text)
      case Errno.noEntry: throw absent(name)
      default: throw translated(error, target.text)
      }
    }
    try sync(target.folder)
    if name.folder != target.folder { try sync(name.folder) }
  }

  private func checkPlace() throws(RemoteError) {
    let place: FileStatus.Identity
    do throws(SystemError) {
      let status = try FileSystem.status(path)
      guard status.kind == .directory else {
        throw SystemError(errno: Errno.notDirectory, call: "stat", subject: path)
      }
      place = status.identity
    } catch {
      guard error.isAbsence else { throw translated(error) }
      let words = error.errno == Errno.noEntry ? "is not there" : "is not a directory"
      throw RemoteError(.noPlace, "\(path) \(words)")
    }
    let first = seen.withLock { seen -> FileStatus.Identity in
      if let seen { return seen }
      seen = place
      return place
    }
    guard first == place else { throw replaced(path) }
  }

  private func replaced(_ path: String) -> RemoteError {
    RemoteError(
      .noPlace, "\(path) was removed or replaced during the exchange; nothing more is written there"
    )
  }

  /// - Throws: `noPlace` for a link, and for a folder other than the one seen before.
  func folder(_ folder: String) throws(RemoteError) -> File? {
    if let known = opened.withLock({ $0[folder] }) { return known.file }
    guard let found = try findFolder(folder) else { return nil }
    let place = try translating(try found.status(), folder).identity
    opened.withLock { $0[folder] = Folder(file: found, place: place) }
    return found
  }

  /// Opens a folder that exists and is at its path.
  func openFolder(_ name: String) throws(RemoteError) -> File {
    guard let found = try folder(name) else {
      throw RemoteError(.noPlace, "the directory was removed", object: name)
    }
    try checkFolder(name)
    return found
  }

  /// Throws `noPlace` if an open folder is no longer at its path.
  func checkFolder(_ folder: String) throws(RemoteError) {
    guard let known = opened.withLock({ $0[folder] }) else { return }
    let path = folder.isEmpty ? path : "\(path)/\(folder)"
    do throws(SystemError) {
      guard try FileSystem.status(path).identity == known.place else {
        throw SystemError(errno: Errno.noEntry, call: "stat", subject: path)
      }
    } catch {
      guard error.isAbsence else { throw translated(error, folder) }
      throw replaced(path)
    }
  }

  private func findFolder(_ folder: String) throws(RemoteError) -> File? {
    var directory: File
    do throws(SystemError) {
      directory = try File(path, [.read, .directory])
    } catch {
      try checkPlace()
      throw translated(error)
    }
    for part in folder.split(separator: "/") {
      do throws(SystemError) {
        directory = try File(String(part), in: directory, [.read, .directory, .noFollow])
      } catch {
        switch error.errno {
        case Errno.noEntry: return nil
        case Errno.notDirectory, Errno.tooManySymlinks:
          throw RemoteError(.noPlace, "\(path)/\(folder) is not a directory of its own")
        default: throw translated(error, folder)
        }
      }
    }
    return directory
  }

  private func make(_ folder: String) throws(RemoteError) {
    try checkFolder(folder)
    guard try findFolder(folder) == nil else { return }
    var made = path
    for part in folder.split(separator: "/") {
      let parent = made
      made += "/\(part)"
      do throws(SystemError) {
        // The umask and the directory's own mode say who shares it.
        try FileSystem.makeDirectory(made, permissions: 0o777)
        try FileSystem.syncDirectory(parent)
      } catch  where error.errno == Errno.exists {
      } catch {
        throw translated(error, folder)
      }
    }
    guard try findFolder(folder) != nil else {
      throw RemoteError(
        .unreachable, "the directory was removed", object: folder, isTransient: true)
    }
  }

  private func sync(_ folder: String) throws(RemoteError) {
    try translating(
      try FileSystem.syncDirectory(folder.isEmpty ? path : "\(path)/\(folder)"), folder)
  }

  private func absent(_ name: ObjectName) -> RemoteError {
    RemoteError(.absent, "not there", object: name.text)
  }

  func translating<Result>(
    _ body: @autoclosure () throws(SystemError) -> Result, _ object: String? = nil
  ) throws(RemoteError) -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      throw translated(error, object)
    }
  }

  func translated(_ error: SystemError, _ object: String? = nil) -> RemoteError {
    let kind: RemoteError.Kind =
      switch error.errno {
      case Errno.noSpace, Errno.quota, Errno.fileTooBig: .noSpace
      case Errno.accessDenied, Errno.operationNotPermitted, Errno.readOnlyFileSystem: .denied
      case Errno.inputOutput, Errno.noDevice, Errno.stale, Errno.hostUnreachable,
        Errno.notConnected:
        .unreachable
      case Errno.timedOut: .stalled
      case Errno.nameTooLong: .invalid
      case Errno.notDirectory, Errno.tooManySymlinks: .noPlace
      default: .local(error)
      }
    guard let words = words(for: error) else {
      return RemoteError(kind, "\(error)", object: object)
    }
    return RemoteError(kind, words)
  }

  /// The sentence about an error of the whole directory; nil for others.
  private func words(for error: SystemError) -> String? {
    switch error.errno {
    case Errno.readOnlyFileSystem: return "the directory \(path) is read-only"
    case Errno.noSpace:
      let free = (try? FileSystem.fileSystem(of: path))?.availableBytes
      let needed =
        error.call.hasPrefix(Self.needing) ? error.call.dropFirst(Self.needing.count) : nil
      var figures: [String] = []
      if let free { figures.append("\(ByteCount.text(free)) free") }
      if let needed, let bytes = UInt64(needed) {
        figures.append("\(ByteCount.text(bytes)) needed at once")
      }
      return "the disk of \(path) is full"
        + (figures.isEmpty ? "" : " (\(figures.joined(separator: ", ")))")
    case Errno.quota: return "the quota of the disk of \(path) is used up"
    default: return nil
    }
  }

  /// The call in an error about missing space; the bytes follow.
  static let needing = "room for "
}
