package import LLVSCore
internal import Platform
internal import Synchronization

/// A folder in the original's format: `versions/ID` and `changes/ID`.
///
/// INVARIANT R1: a version's file appears only after its changes are durable, under its name at
///   once and whole. Temporary files are in a hidden directory beside the two, never in them, since
///   older programs read every name there.
/// INVARIANT R2: an existing file of a version is never written again.
/// INVARIANT R3: only regular files are opened, and in a way that cannot block.
package final class FolderRemote: WireRemote {
  private let folder: PeerFolder
  private var path: String { folder.path }
  private let outgoing: String
  private let control: ExchangeControl

  /// The open directories that a send works in, in which a file is found by its name alone.
  private struct Ready: Sendable {
    let outgoing: File
    /// The directories in which files are written, and those in which they become visible.
    let from: [WireKind: File]
    let to: [WireKind: File]
  }

  // Held while the folder is prepared, once for each send; otherwise for memory access only.
  private let ready = Mutex<Ready?>(nil)
  // The two directories after the first read, in which a file is found by its name alone. A leaf
  // lock.
  private let directories = Mutex<[WireKind: File]>([:])

  /// Files up to this many bytes are read when they are opened.
  private static let readAhead: UInt64 = 65_536

  /// Creates a remote at a folder, which must exist; `replica` distinguishes this store's temporary
  /// files from those of others.
  package init(path: String, replica: String, control: ExchangeControl = ExchangeControl()) {
    folder = PeerFolder(path: path)
    self.control = control
    outgoing = "\(path)/.llvs-outgoing-\(replica)"
  }

  deinit {
    if ready.withLock({ $0 != nil }) { abandon() }
  }

  /// The ids of the versions in the folder, in no order.
  package func versionIDs() throws(StoreError) -> [Version.ID] { try ids(.version) }

  /// Returns the versions with changes but without a description: a send was interrupted, or the
  /// other file was removed.
  func idsOfChangesAlone() throws(StoreError) -> [Version.ID] {
    let whole = Set(try ids(.version))
    return try ids(.changes).filter { !whole.contains($0) }.sorted()
  }

  private func ids(_ kind: WireKind) throws(StoreError) -> [Version.ID] {
    try folder.check()
    let directory = "\(path)/\(kind.rawValue)"
    do throws(SystemError) {
      guard try FileSystem.exists(directory) else { return [] }
    } catch {
      throw folder.translated(error)
    }
    try folder.checkOwn(directory)
    do throws(SystemError) {
      return try FileSystem.list(directory).compactMap { name in
        guard !FolderRemote.isTemporary(name) else { return nil }
        let id = Version.ID(name)
        return WireName.fault(of: id) == nil ? id : nil
      }
    } catch {
      throw folder.translated(error)
    }
  }

  /// Returns true for names that programs which synchronise folders use while they write.
  private static func isTemporary(_ name: String) -> Bool {
    name.hasPrefix(".") || name.hasPrefix("~") || name.hasSuffix(".tmp")
      || name.hasSuffix(".part") || name.hasSuffix(".partial")
  }

  /// Opens a version's file of a kind; nil if it is not there.
  ///
  /// - Throws: ``StoreError/invalid(_:)`` for a file that is not regular or may not be read,
  ///   ``StoreError/unreachable(_:)``.
  package func open(_ kind: WireKind, _ id: Version.ID) throws(StoreError) -> WireInput? {
    if let fault = WireName.fault(of: id) { throw .invalid(fault) }
    let name = "\(kind.rawValue)/\(id.rawValue)"
    guard let directory = try directory(kind) else {
      try folder.check()
      return nil
    }
    let file: File
    let start: [UInt8]
    let isWhole: Bool
    var isThere = false
    do throws(SystemError) {
      // Opening a device may have an effect, and opening a FIFO may wait.
      let kind = try FileSystem.status(id.rawValue, in: directory, following: false).kind
      guard kind == .regular else { throw SystemError(errno: Errno.invalid, call: "", subject: "") }
      isThere = true
      file = try File(id.rawValue, in: directory, [.read, .nonBlocking, .noFollow])
      let status = try file.status()
      guard status.kind == .regular else {
        throw SystemError(errno: Errno.invalid, call: "", subject: "")
      }
      // Reading one byte more than the size shows that nothing was added since.
      let longest = Int(min(status.size, FolderRemote.readAhead)) + 1
      start = try file.read(longest, at: 0)
      isWhole = start.count < longest
    } catch {
      switch error.errno {
      case Errno.noEntry:
        try folder.check()
        return nil
      case Errno.invalid, Errno.tooManySymlinks: throw .invalid("\(name): not a regular file")
      // A file that another user made unreadable does not stop the retrieval of the others.
      case Errno.accessDenied where isThere: throw .invalid("\(name): may not be read")
      default: throw folder.translated(error)
      }
    }
    guard !isWhole else { return WireInput(name: name, bytes: start) }
    return input(name, start, then: file)
  }

  /// Returns an input of a long file, whose first bytes were read.
  private func input(_ name: String, _ start: [UInt8], then file: File) -> WireInput {
    var offset = 0
    let control = control
    return WireInput(name: name) { [self] (out) throws(StoreError) in
      try control.check()
      if offset < start.count {
        let count = min(out.count, start.count - offset)
        start.withUnsafeBytes {
          out.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
        }
        offset += count
        return count
      }
      do throws(SystemError) {
        let count = try file.read(into: out, at: UInt64(offset))
        offset += count
        return count
      } catch {
        throw folder.translated(error)
      }
    }
  }

  /// Returns one of the two directories; nil if it is not there.
  private func directory(_ kind: WireKind) throws(StoreError) -> File? {
    if let known = directories.withLock({ $0[kind] }) { return known }
    let path = "\(path)/\(kind.rawValue)"
    let directory: File
    do throws(SystemError) {
      guard try FileSystem.exists(path) else { return nil }
    } catch {
      throw folder.translated(error)
    }
    try folder.checkOwn(path)
    do throws(SystemError) {
      directory = try FolderRemote.opened(path)
    } catch {
      throw folder.translated(error)
    }
    return directories.withLock { known in
      if let other = known[kind] { return other }
      known[kind] = directory
      return directory
    }
  }

  // MARK: Writing

  private func prepare() throws(StoreError) -> Ready {
    let outcome = ready.withLock { ready in
      Result<Ready, StoreError> { () throws(StoreError) in
        if let ready { return ready }
        let made = try makeReady()
        ready = made
        return made
      }
    }
    return try outcome.get()
  }

  private func makeReady() throws(StoreError) -> Ready {
    try folder.check()
    do throws(SystemError) {
      for kind in WireKind.allCases {
        let directory = "\(path)/\(kind.rawValue)"
        if try !FileSystem.exists(directory) { try FileSystem.makeDirectory(directory) }
      }
    } catch {
      throw folder.translated(error)
    }
    for kind in WireKind.allCases { try folder.checkOwn("\(path)/\(kind.rawValue)") }
    do throws(SystemError) {
      // The remains of a send that failed are removed.
      try FileSystem.removeTree(outgoing)
      try FileSystem.makeDirectory(outgoing)
      var (from, to) = ([WireKind: File](), [WireKind: File]())
      for kind in WireKind.allCases {
        try FileSystem.makeDirectory("\(outgoing)/\(kind.rawValue)")
        from[kind] = try FolderRemote.opened("\(outgoing)/\(kind.rawValue)")
        to[kind] = try FolderRemote.opened("\(path)/\(kind.rawValue)")
      }
      return Ready(outgoing: try FolderRemote.opened(outgoing), from: from, to: to)
    } catch {
      throw folder.translated(error)
    }
  }

  private static func opened(_ directory: String) throws(SystemError) -> File {
    try File(directory, [.read, .directory, .noFollow])
  }

  /// Writes a version's file of a kind that no reader sees before ``publish(_:)``.
  package func write(
    _ kind: WireKind, _ id: Version.ID, _ body: (WireOutput) throws(StoreError) -> Void
  ) throws(StoreError) {
    if let fault = WireName.fault(of: id) { throw .invalid(fault) }
    let ready = try prepare()
    let file: File
    do throws(SystemError) {
      file = try File(
        id.rawValue, in: ready.from[kind], [.readWrite, .create, .truncate, .noFollow])
    } catch {
      throw folder.translated(error)
    }
    var offset: UInt64 = 0
    // The format cannot abbreviate zeros: a hole of a terabyte takes more than a terabyte here.
    let checkSpace = { [self] (length: UInt64) throws(StoreError) in
      do throws(SystemError) {
        guard try file.fileSystem().availableBytes < length else { return }
        throw SystemError(errno: Errno.noSpace, call: "write \(length) bytes", subject: file.path)
      } catch {
        throw folder.translated(error)
      }
    }
    let output = WireOutput(checkSpace: checkSpace) { [self] (bytes) throws(StoreError) in
      try control.check()
      do throws(SystemError) {
        try file.write(bytes, at: offset)
      } catch {
        throw folder.translated(error)
      }
      offset += UInt64(bytes.count)
    }
    try body(output)
    try output.flush()
  }

  /// Makes versions whose files are written visible, durably: all changes first, then the
  /// descriptions.
  package func publish(_ ids: [Version.ID]) throws(StoreError) {
    guard !ids.isEmpty else { return }
    let ready = try prepare()
    do throws(SystemError) {
      // One sync for all files of the batch, so that their bytes are on the disk before their
      // names.
      try ready.outgoing.syncFileSystem()
      for kind in [WireKind.changes, .version] {
        guard let from = ready.from[kind], let to = ready.to[kind] else { continue }
        for id in ids { try FolderRemote.move(id.rawValue, kind, from, to) }
        try to.sync()
      }
    } catch {
      throw folder.translated(error)
    }
  }

  private static func move(
    _ name: String, _ kind: WireKind, _ from: File, _ to: File
  ) throws(SystemError) {
    if kind == .changes {
      // Without the version's file no reader uses these changes yet: a torn file is replaced.
      try FileSystem.rename(name, in: from, to: name, in: to)
      return
    }
    do throws(SystemError) {
      try FileSystem.rename(name, in: from, to: name, in: to, .exclusive)
    } catch {
      let source = "\(from.path)/\(name)"
      switch error.errno {
      case Errno.exists: try FileSystem.unlink(source)
      case Errno.invalid, Errno.notSupported, Errno.notImplemented:
        // This file system has no exclusive rename.
        if try FileSystem.exists("\(to.path)/\(name)") {
          try FileSystem.unlink(source)
        } else {
          try FileSystem.rename(name, in: from, to: name, in: to)
        }
      default: throw error
      }
    }
  }

  /// Removes what was written and not published.
  package func abandon() {
    // This also removes what an earlier send left behind; what cannot be removed now is removed by
    // the next.
    try? FileSystem.removeTree(outgoing)
    ready.withLock { $0 = nil }
  }
}
