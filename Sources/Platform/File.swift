internal import CShims
internal import Glibc

/// An open file or directory; closed when the last reference goes.
///
/// - Concurrency: every operation names its offset, so any number of threads may share one.
package final class File: Sendable {
  /// How a file is opened.
  package struct Mode: OptionSet, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let read = Mode(rawValue: O_RDONLY)
    package static let write = Mode(rawValue: O_WRONLY)
    package static let readWrite = Mode(rawValue: O_RDWR)
    package static let create = Mode(rawValue: O_CREAT)
    /// With ``create``: fails if the name is there.
    package static let exclusive = Mode(rawValue: O_EXCL)
    package static let truncate = Mode(rawValue: O_TRUNC)
    package static let append = Mode(rawValue: O_APPEND)
    package static let directory = Mode(rawValue: O_DIRECTORY)
    package static let noFollow = Mode(rawValue: O_NOFOLLOW)
    package static let nonBlocking = Mode(rawValue: O_NONBLOCK)
  }

  package let descriptor: Int32
  /// The path it was opened by, for messages.
  package let path: String

  /// Opens a file, with O_CLOEXEC always; throws what open(2) says.
  ///
  /// The path is relative to `directory` where one is given; `permissions` is the mode of a file that is
  /// created, before the umask.
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

  /// Opens a file whose path may be any bytes; as the others.
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

  /// Takes over a descriptor.
  package init(adopting descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    // close(2) releases the descriptor whatever it says; errors of writes were met at sync.
    _ = close(descriptor)
  }

  func failed(_ call: StaticString, _ code: Int32) -> SystemError {
    SystemError(errno: code, call: "\(call)", subject: path)
  }
}
