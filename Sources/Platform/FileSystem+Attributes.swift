internal import CShims
internal import Glibc

// Attributes by path; only chmod(2) follows a symbolic link at its end.

extension FileSystem {
  /// Returns the result of a system call; throws the error that errno has if it is negative.
  @discardableResult
  static func check<R: BinaryInteger>(
    _ result: R, _ call: String, _ path: [UInt8]
  ) throws(SystemError) -> R {
    if result < 0 { throw SystemError(errno: errno, call: call, subject: text(path)) }
    return result
  }

  @discardableResult
  static func check<R: BinaryInteger>(
    _ result: R, _ call: String, _ path: String = ""
  ) throws(SystemError) -> R {
    if result < 0 { throw SystemError(errno: errno, call: call, subject: path) }
    return result
  }

  package static func setMode(_ path: [UInt8], _ mode: UInt32) throws(SystemError) {
    try check(reaching(path) { unsafe chmod($0, mode & 0o7777) }, "chmod", path)
  }

  package static func setOwner(_ path: [UInt8], uid: UInt32, gid: UInt32) throws(SystemError) {
    try check(reaching(path) { unsafe lchown($0, uid, gid) }, "lchown", path)
  }

  /// Sets the times of the last change and access.
  package static func setModified(
    _ path: [UInt8], seconds: Int64, nanoseconds: UInt32
  ) throws(SystemError) {
    let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
    let times = [time, time]
    try check(
      reaching(path) { unsafe utimensat(AT_FDCWD, $0, times, AT_SYMLINK_NOFOLLOW) }, "utimensat",
      path)
  }

  package static func makeNode(
    _ path: [UInt8], kind: FileStatus.Kind, mode: UInt32, major: UInt32 = 0, minor: UInt32 = 0
  ) throws(SystemError) {
    let type: mode_t
    switch kind {
    case .fifo: type = S_IFIFO
    case .socket: type = S_IFSOCK
    case .characterDevice: type = S_IFCHR
    case .blockDevice: type = S_IFBLK
    default: throw SystemError(errno: EINVAL, call: "mknod", subject: text(path))
    }
    try check(
      reaching(path) { unsafe llvs_make_node($0, type | (mode & 0o7777), major, minor) }, "mknod",
      path)
  }

  package static func deviceNumber(
    _ path: [UInt8]
  ) throws(SystemError) -> (major: UInt32, minor: UInt32) {
    var (major, minor): (UInt32, UInt32) = (0, 0)
    try check(
      reaching(path) { unsafe llvs_device_number($0, &major, &minor) }, "lstat", path)
    return (major, minor)
  }

  /// Returns the names of the kept extended attributes (``ExtendedName``).
  package static func extendedNames(_ path: [UInt8]) throws(SystemError) -> [[UInt8]] {
    while true {
      let size = try reaching(path) { unsafe llvs_list_extended($0, nil, 0) }
      if size < 0, errno == EOPNOTSUPP || errno == EACCES { return [] }
      try check(size, "llistxattr", path)
      if size == 0 { return [] }
      var buffer = [CChar](repeating: 0, count: Int(size))
      let count = try reaching(path) {
        unsafe llvs_list_extended($0, &buffer, buffer.count)
      }
      if count < 0, errno == ERANGE { continue }
      try check(count, "llistxattr", path)
      return buffer[..<Int(count)].split(separator: 0).map { $0.map { UInt8(bitPattern: $0) } }
        .filter(ExtendedName.isKept)
    }
  }

  package static func extended(
    _ path: [UInt8], _ name: [UInt8]
  ) throws(SystemError) -> [UInt8]? {
    // xattr(7): no value is larger.
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let name = try terminated(name)
    let count = try reaching(path) {
      unsafe llvs_get_extended($0, name, &buffer, buffer.count)
    }
    if count < 0, errno == ENODATA || errno == EOPNOTSUPP { return nil }
    try check(count, "lgetxattr", path)
    return Array(buffer[..<Int(count)])
  }

  package static func setExtended(
    _ path: [UInt8], _ name: [UInt8], to value: [UInt8]
  ) throws(SystemError) {
    let name = try terminated(name)
    try check(
      reaching(path) { unsafe llvs_set_extended($0, name, value, value.count) }, "lsetxattr", path)
  }
}
