internal import CShims
internal import Glibc

/// A file or directory that is held but not opened (O_PATH), so renames cannot redirect it. Files below it are
/// reached without symbolic links and without other mounts.
package struct HeldPath: ~Copyable, Sendable {
  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  package init(directory path: String) throws(SystemError) {
    let flags = llvs_open_path_only() | llvs_open_directory() | llvs_open_no_follow() | O_CLOEXEC
    let found = unsafe llvs_openat(AT_FDCWD, path, flags, 0)
    guard found >= 0 else { throw SystemError(errno: errno, call: "open", subject: path) }
    descriptor = found
  }

  deinit { close(descriptor) }

  /// Holds the file at a path below this directory; itself for an empty path. ELOOP for a symbolic link on the way,
  /// EXDEV for a mount, ENOSYS before Linux 5.6.
  package func below(_ path: [UInt8]) throws(SystemError) -> HeldPath {
    let flags = UInt64(llvs_open_path_only() | llvs_open_no_follow())
    let words = try FileSystem.terminated(path.isEmpty ? [0x2E] : path)
    let found = unsafe llvs_open_beneath(descriptor, words, flags)
    guard found >= 0 else {
      throw SystemError(errno: errno, call: "openat2", subject: FileSystem.text(path))
    }
    return HeldPath(descriptor: found)
  }

  package func status() throws(SystemError) -> FileStatus {
    var raw = stat()
    guard unsafe fstat(descriptor, &raw) == 0 else {
      throw SystemError(errno: errno, call: "fstat")
    }
    return FileStatus(raw)
  }

  /// Makes a name in this directory, of the kind in the type bits of `mode` (mknod(2), mkdir(2), symlink(2)).
  package func make(_ name: [UInt8], mode: UInt32) throws(SystemError) {
    let words = try FileSystem.terminated(name)
    let result =
      switch mode & S_IFMT {
      case S_IFDIR: unsafe mkdirat(descriptor, words, mode & 0o7777)
      case S_IFLNK: unsafe symlinkat(".", descriptor, words)
      default: unsafe mknodat(descriptor, words, mode, 0)
      }
    guard result == 0 else {
      throw SystemError(errno: errno, call: "mknod", subject: FileSystem.text(name))
    }
  }

  package func remove(_ name: [UInt8], isDirectory: Bool) throws(SystemError) {
    let words = try FileSystem.terminated(name)
    guard unsafe unlinkat(descriptor, words, isDirectory ? AT_REMOVEDIR : 0) == 0 else {
      throw SystemError(errno: errno, call: "unlink", subject: FileSystem.text(name))
    }
  }

  /// Sets the time of the last change, or also of the last access, to the present.
  package func touch(both: Bool) throws(SystemError) {
    guard llvs_touch(descriptor, both ? 1 : 0) == 0 else {
      throw SystemError(errno: errno, call: "utimensat")
    }
  }

  package func openForWriting() throws(SystemError) {
    let path = "/proc/self/fd/\(descriptor)"
    let found = unsafe llvs_openat(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0)
    guard found >= 0 else { throw SystemError(errno: errno, call: "open") }
    close(found)
  }
}
