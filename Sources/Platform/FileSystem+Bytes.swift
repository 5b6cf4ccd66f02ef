internal import CShims
internal import Glibc

// The calls on names for paths of any bytes: a name on Linux need not be UTF-8, and a string would repair it.

/// A name in a directory.
package struct DirectoryName: Sendable {
  package var bytes: [UInt8]
  package var kind: FileStatus.Kind
}

extension FileSystem {
  /// A path for messages.
  package static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  static func terminated(_ path: [UInt8]) -> [CChar] { path.map { CChar(bitPattern: $0) } + [0] }

  private static func check(
    _ result: Int32, _ call: String, _ path: [UInt8]
  ) throws(SystemError) {
    guard result != 0 else { return }
    throw SystemError(errno: errno, call: call, subject: text(path))
  }

  /// The names in a directory and what they name, unordered, without `.` and `..`.
  package static func names(in path: [UInt8]) throws(SystemError) -> [DirectoryName] {
    try Faults.pass(.list, "opendir", text(path))
    guard let directory = unsafe opendir(terminated(path)) else {
      throw SystemError(errno: errno, call: "opendir", subject: text(path))
    }
    defer { unsafe _ = closedir(directory) }
    var names: [DirectoryName] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(directory) else {
        guard errno == 0 else {
          throw SystemError(errno: errno, call: "readdir", subject: text(path))
        }
        return names
      }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        // d_name is NUL-terminated (readdir(3)).
        unsafe $0.withMemoryRebound(to: UInt8.self, capacity: 256) {
          let count = unsafe strlen(UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
          return unsafe Array(UnsafeBufferPointer(start: $0, count: count))
        }
      }
      guard name != [0x2E], name != [0x2E, 0x2E] else { continue }
      let kind = try status(path + [0x2F] + name).kind
      names.append(DirectoryName(bytes: name, kind: kind))
    }
  }

  /// What stands at a path; a symbolic link at its end is not followed.
  package static func status(_ path: [UInt8]) throws(SystemError) -> FileStatus {
    if Faults.isOn { try Faults.pass(.status, "stat", text(path)) }
    var raw = stat()
    try check(
      unsafe fstatat(AT_FDCWD, terminated(path), &raw, AT_SYMLINK_NOFOLLOW), "stat", path)
    return FileStatus(raw)
  }

  /// Makes a directory.
  package static func makeDirectory(
    _ path: [UInt8], permissions: UInt32 = 0o755
  ) throws(SystemError) {
    try Faults.pass(.makeDirectory, "mkdir", text(path))
    try check(unsafe mkdir(terminated(path), permissions), "mkdir", path)
  }

  /// Sets the permission bits of a file that is no symbolic link.
  package static func setMode(_ path: [UInt8], _ mode: UInt32) throws(SystemError) {
    try check(unsafe chmod(terminated(path), mode & 0o7777), "chmod", path)
  }

  /// Sets the owner of what stands at a path, also of a symbolic link.
  package static func setOwner(_ path: [UInt8], uid: UInt32, gid: UInt32) throws(SystemError) {
    try check(unsafe lchown(terminated(path), uid, gid), "lchown", path)
  }

  /// Sets when a file was last changed, and when read to the same.
  package static func setModified(
    _ path: [UInt8], seconds: Int64, nanoseconds: UInt32
  ) throws(SystemError) {
    let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
    let times = [time, time]
    try check(
      unsafe utimensat(AT_FDCWD, terminated(path), times, AT_SYMLINK_NOFOLLOW), "utimensat", path)
  }
}
