internal import CShims
internal import Glibc

// A path longer than a system call accepts: its directories are opened in turn, one descriptor at a time.

extension FileSystem {
  /// Runs `call` with a path that a system call accepts; errno is that of `call`.
  /// - Throws: the error of opening a directory of a long path; EINVAL for a NUL, which would cut the path short.
  static func reaching<R>(_ path: [UInt8], _ call: ([CChar]) -> R) throws(SystemError) -> R {
    guard path.count >= Int(PATH_MAX) else { return call(try terminated(path)) }
    let (directory, rest) = try directory(towards: path)
    // A path below a descriptor, also for calls without a directory argument (proc(5)).
    let name: [CChar]
    do throws(SystemError) {
      name = try terminated(Array("/proc/self/fd/\(directory)/".utf8) + rest)
    } catch {
      close(directory)
      throw error
    }
    let result = call(name)
    let code = errno
    close(directory)
    errno = code
    return result
  }

  /// Opens a directory on the way; returns it and the rest of the path, relative to it.
  private static func directory(
    towards path: [UInt8]
  ) throws(SystemError) -> (descriptor: Int32, rest: ArraySlice<UInt8>) {
    // Leaves 64 bytes for the text before the rest, `/proc/self/fd/N/`.
    let most = Int(PATH_MAX) - 64
    var directory = AT_FDCWD
    var rest = path[...]
    func fail(_ code: Int32) -> SystemError {
      if directory >= 0 { close(directory) }
      return SystemError(errno: code, call: "open", subject: text(path))
    }
    while rest.count >= most {
      guard let slash = rest.prefix(most).lastIndex(of: 0x2F), slash > rest.startIndex else {
        throw fail(ENAMETOOLONG)
      }
      let part: [CChar]
      do throws(SystemError) { part = try terminated(Array(rest[..<slash])) } catch {
        throw fail(EINVAL)
      }
      // O_PATH: passing through a directory does not need the permission to list it.
      let pathOnly: Int32 = 0o10_000_000
      let next = unsafe llvs_openat(directory, part, pathOnly | O_DIRECTORY | O_CLOEXEC, 0)
      guard next >= 0 else { throw fail(errno) }
      if directory >= 0 { close(directory) }
      directory = next
      // Several slashes count as one; a rest that begins with a slash would begin at the root.
      rest = rest[slash...].drop { $0 == 0x2F }
    }
    return (directory, rest)
  }
}
