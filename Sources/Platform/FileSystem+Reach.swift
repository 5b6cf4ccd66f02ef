internal import CShims
internal import Glibc

// Paths longer than the kernel takes in one call: the directories before their end are opened one part after
// the other, each relative to the last, so that one descriptor is held, however deep a path goes.

extension FileSystem {
  /// Calls with a path as a system call takes it; errno is what the call left.
  ///
  /// - Throws: ``SystemError`` where a directory of a long path cannot be reached, and with EINVAL for bytes
  ///   that hold a NUL, which would end them.
  /// - Complexity: O(1) system calls for each 4,095 bytes.
  static func reaching<R>(_ path: [UInt8], _ call: ([CChar]) -> R) throws(SystemError) -> R {
    // The NUL counts.
    guard path.count >= Int(PATH_MAX) else { return call(try terminated(path)) }
    let (directory, rest) = try directory(towards: path)
    // A path below a descriptor, also for calls that take no directory (proc(5)).
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

  /// A directory on the way, open, and the end of the path from there.
  private static func directory(
    towards path: [UInt8]
  ) throws(SystemError) -> (descriptor: Int32, rest: ArraySlice<UInt8>) {
    // Room is left for what stands before the rest.
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
      // O_PATH: to go on from it, nobody has to be allowed to list it.
      let pathOnly: Int32 = 0o10_000_000
      let next = unsafe llvs_openat(directory, part, pathOnly | O_DIRECTORY | O_CLOEXEC, 0)
      guard next >= 0 else { throw fail(errno) }
      if directory >= 0 { close(directory) }
      directory = next
      // Several slashes are one; the rest must not begin with one, or it would begin at the root.
      rest = rest[slash...].drop { $0 == 0x2F }
    }
    return (directory, rest)
  }
}
