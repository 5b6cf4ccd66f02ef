internal import CShims
internal import Glibc

/// An open file or directory.
/// - Concurrency: every operation has its offset, so any number of threads may share one.
package final class File: Sendable {
  /// Flags of open(2).
  package struct Mode: OptionSet, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let read = Mode(rawValue: O_RDONLY)
    package static let write = Mode(rawValue: O_WRONLY)
    package static let readWrite = Mode(rawValue: O_RDWR)
    package static let create = Mode(rawValue: O_CREAT)
    package static let exclusive = Mode(rawValue: O_EXCL)
    package static let truncate = Mode(rawValue: O_TRUNC)
    package static let append = Mode(rawValue: O_APPEND)
    package static let directory = Mode(rawValue: O_DIRECTORY)
    package static let noFollow = Mode(rawValue: O_NOFOLLOW)
    /// Does not wait for the other end of a FIFO (O_NONBLOCK).
    package static let nonBlocking = Mode(rawValue: O_NONBLOCK)
  }

  package let descriptor: Int32
  package let path: String

  /// Opens a file with O_CLOEXEC, relative to a directory. `permissions` is the mode of a new file before the
  /// umask.
  package convenience init(
    _ path: String, in directory: File? = nil, _ mode: Mode, permissions: UInt32 = 0o644
  ) throws(SystemError) {
    let full = directory.map { "\($0.path)/\(path)" } ?? path
    let flags = mode.rawValue | O_CLOEXEC
    try self.init(opening: full) {
      unsafe llvs_openat(directory?.descriptor ?? AT_FDCWD, path, flags, permissions)
    }
  }

  /// The same for a path of any bytes and length; EINVAL for a NUL.
  package convenience init(
    bytes path: [UInt8], _ mode: Mode, permissions: UInt32 = 0o644
  ) throws(SystemError) {
    let flags = mode.rawValue | O_CLOEXEC
    try self.init(opening: FileSystem.text(path)) { () throws(SystemError) in
      try FileSystem.reaching(path) { unsafe llvs_openat(AT_FDCWD, $0, flags, permissions) }
    }
  }

  private init(
    opening path: String, _ open: () throws(SystemError) -> Int32
  ) throws(SystemError) {
    try Faults.pass(.open, "open", path)
    var code: Int32
    var fd: Int32
    repeat {
      fd = try open()
      code = errno
    } while fd < 0 && code == EINTR
    guard fd >= 0 else { throw SystemError(errno: code, call: "open", subject: path) }
    descriptor = fd
    self.path = path
  }

  /// Makes a file without a name; `path` had to be free.
  package static func unnamed(_ path: String) throws(SystemError) -> File {
    let file = try File(path, [.readWrite, .create, .exclusive], permissions: 0o600)
    try FileSystem.unlink(path)
    return file
  }

  deinit {
    // close(2) releases the descriptor even when it fails; a sync has reported errors of writes.
    _ = close(descriptor)
  }

  func failed(_ call: StaticString, _ code: Int32) -> SystemError {
    SystemError(errno: code, call: "\(call)", subject: path)
  }

  /// The most bytes of one call.
  private static let part = 1 << 27

  /// Copies the file into a new one, sharing blocks if possible; the caller syncs it. EEXIST if the target exists.
  package func duplicate(to target: String, permissions: UInt32 = 0o600) throws(SystemError) {
    let copy = try File(target, [.readWrite, .create, .exclusive], permissions: permissions)
    var done: UInt64 = 0
    while true {
      let (most, dies) = try Faults.passWrite("copy_file_range", target, Self.part)
      let count = llvs_copy_range(
        descriptor, copy.descriptor, Int64(clamping: done), Int64(most))
      let code = errno
      if dies { Faults.die() }
      if count > 0 {
        done += UInt64(count)
        continue
      }
      if count < 0, code == EINTR { continue }
      guard count == 0 || [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP].contains(code) else {
        throw copy.failed("copy_file_range", code)
      }
      // Some file systems cannot copy, and some report the end at once.
      _ = try readAndWrite(to: copy, from: done..<(.max)) { _ in true }
      return
    }
  }

  package enum LockKind: Sendable { case shared, exclusive }

  /// Acquires a lock on the whole file for this open file (an OFD lock); false if another has it and not `waiting`.
  package func lock(_ kind: LockKind, waiting: Bool = false) throws(SystemError) -> Bool {
    try Faults.pass(.lock, "fcntl", path)
    while true {
      let result = llvs_lock(
        descriptor, Int32(kind == .shared ? F_RDLCK : F_WRLCK), waiting ? 1 : 0)
      let code = errno
      if result == 0 { return true }
      if code == EINTR { continue }
      if !waiting, code == EAGAIN || code == EACCES { return false }
      throw failed("fcntl", code)
    }
  }

  package func unlock() { _ = llvs_lock(descriptor, Int32(F_UNLCK), 0) }

  /// True if the file, open for reading only, is open elsewhere: the kernel then refuses a lease for writing. False
  /// also if the file system has no leases.
  package var isOpenElsewhere: Bool {
    // fcntl(2): F_SETLEASE is 1024.
    if fcntl(descriptor, 1024, F_WRLCK) == 0 {
      _ = fcntl(descriptor, 1024, F_UNLCK)
      return false
    }
    return errno == EAGAIN
  }

  /// Acquires flock(2), also possible for a directory, for this open file without waiting; false if another has it,
  /// true if the file system lacks it.
  package func lockEntirely() throws(SystemError) -> Bool {
    try Faults.pass(.lock, "flock", path)
    while true {
      let result = flock(descriptor, LOCK_EX | LOCK_NB)
      let code = errno
      if result == 0 { return true }
      switch code {
      case EINTR: continue
      case EWOULDBLOCK: return false
      case ENOSYS, EOPNOTSUPP, ENOLCK, EINVAL: return true
      default: throw failed("flock", code)
      }
    }
  }
}
