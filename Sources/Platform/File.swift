internal import CShims
internal import Glibc

/// An open file or directory; closed when the last reference goes.
///
/// - Concurrency: every operation names its offset, so any number of threads may share one.
package final class File: Sendable {
  /// Flags of open(2).
  package struct Mode: OptionSet, Sendable {
    /// The bits, as open(2) takes them.
    package let rawValue: Int32
    /// Creates a mode from the bits of open(2).
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// For reading only (O_RDONLY).
    package static let read = Mode(rawValue: O_RDONLY)
    /// For writing only (O_WRONLY).
    package static let write = Mode(rawValue: O_WRONLY)
    /// For reading and writing (O_RDWR).
    package static let readWrite = Mode(rawValue: O_RDWR)
    /// Creates the file if it is not there (O_CREAT).
    package static let create = Mode(rawValue: O_CREAT)
    /// With ``create``: fails if the name is there (O_EXCL).
    package static let exclusive = Mode(rawValue: O_EXCL)
    /// Removes the file's bytes (O_TRUNC).
    package static let truncate = Mode(rawValue: O_TRUNC)
    /// Each write goes to the file's end (O_APPEND).
    package static let append = Mode(rawValue: O_APPEND)
    /// Fails if the name is not a directory's (O_DIRECTORY).
    package static let directory = Mode(rawValue: O_DIRECTORY)
    /// Fails if the name is a symbolic link's (O_NOFOLLOW).
    package static let noFollow = Mode(rawValue: O_NOFOLLOW)
    /// Does not wait for the other end of a FIFO (O_NONBLOCK).
    package static let nonBlocking = Mode(rawValue: O_NONBLOCK)
  }

  /// The number of the open file in this process, valid as long as this object.
  package let descriptor: Int32
  /// The path it was opened by, for messages.
  package let path: String

  /// Opens a file, always with O_CLOEXEC.
  ///
  /// The path is relative to `directory` where one is given; `permissions` is the mode of a file
  /// that is created, before the umask.
  ///
  /// - Throws: the error of open(2).
  package init(
    _ path: String, in directory: File? = nil, _ mode: Mode, permissions: UInt32 = 0o644
  ) throws(SystemError) {
    let full = directory.map { "\($0.path)/\(path)" } ?? path
    try Faults.pass(.open, "open", full)
    var fd: Int32
    var code: Int32
    repeat {
      fd = unsafe llvs_openat(
        directory?.descriptor ?? AT_FDCWD, path, mode.rawValue | O_CLOEXEC, permissions)
      code = errno
    } while fd < 0 && code == EINTR
    guard fd >= 0 else { throw SystemError(errno: code, call: "open", subject: full) }
    descriptor = fd
    self.path = full
  }

  /// Opens a file whose path may be any bytes and of any length, always with O_CLOEXEC.
  ///
  /// - Throws: the error of open(2); EINVAL if the path holds a NUL.
  package init(
    bytes path: [UInt8], _ mode: Mode, permissions: UInt32 = 0o644
  ) throws(SystemError) {
    let full = FileSystem.text(path)
    try Faults.pass(.open, "open", full)
    var fd: Int32
    var code: Int32
    repeat {
      fd = try FileSystem.reaching(path) {
        unsafe llvs_openat(AT_FDCWD, $0, mode.rawValue | O_CLOEXEC, permissions)
      }
      code = errno
    } while fd < 0 && code == EINTR
    guard fd >= 0 else { throw SystemError(errno: code, call: "open", subject: full) }
    descriptor = fd
    self.path = full
  }

  /// Becomes the owner of a descriptor and closes it at the end; `path` is for messages.
  package init(adopting descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    // close(2) releases the descriptor even when it fails; errors of writes were reported at sync.
    _ = close(descriptor)
  }

  func failed(_ call: StaticString, _ code: Int32) -> SystemError {
    SystemError(errno: code, call: "\(call)", subject: path)
  }
}
