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
  /// The path at the opening, for messages.
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

  /// Closes the descriptor at the end; `path` is for messages.
  package init(adopting descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    // close(2) releases the descriptor even when it fails; a sync has reported errors of writes.
    _ = close(descriptor)
  }

  func failed(_ call: StaticString, _ code: Int32) -> SystemError {
    SystemError(errno: code, call: "\(call)", subject: path)
  }
}
