internal import CShims
internal import Glibc

/// A file or directory that is held but not opened (O_PATH), so renames cannot redirect it. Files below it are
/// reached without symbolic links and without other mounts.
package struct HeldPath: ~Copyable, Sendable {
  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  package init(directory path: String) throws(SystemError) {
    let flags = llvs_open_path_only() | llvs_open_directory() | llvs_open_no_follow() | O_CLOEXEC
    descriptor = try FileSystem.check(
      unsafe llvs_openat(AT_FDCWD, path, flags, 0), "open", path)
  }

  deinit { close(descriptor) }

  /// Holds the file at a path below this directory; itself for an empty path. ELOOP for a symbolic link on the way,
  /// EXDEV for a mount, ENOSYS before Linux 5.6.
  package func below(_ path: [UInt8]) throws(SystemError) -> HeldPath {
    let flags = UInt64(llvs_open_path_only() | llvs_open_no_follow())
    let words = try FileSystem.terminated(path.isEmpty ? [0x2E] : path)
    return HeldPath(
      descriptor: try FileSystem.check(
        unsafe llvs_open_beneath(descriptor, words, flags), "openat2", path))
  }

  package func status() throws(SystemError) -> FileStatus {
    var raw = stat()
    try FileSystem.check(unsafe fstat(descriptor, &raw), "fstat")
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
    try FileSystem.check(result, "mknod", name)
  }

  package func remove(_ name: [UInt8], isDirectory: Bool) throws(SystemError) {
    let words = try FileSystem.terminated(name)
    let flags = isDirectory ? AT_REMOVEDIR : 0
    try FileSystem.check(unsafe unlinkat(descriptor, words, flags), "unlink", name)
  }

  /// Sets the time of the last change, or also of the last access, to the present.
  package func touch(both: Bool) throws(SystemError) {
    try FileSystem.check(llvs_touch(descriptor, both ? 1 : 0), "utimensat")
  }

  package func openForWriting() throws(SystemError) {
    let path = "/proc/self/fd/\(descriptor)"
    let found = unsafe llvs_openat(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0)
    try FileSystem.check(found, "open")
    close(found)
  }
}
