internal import CShims
internal import Glibc

// The calls on names for paths of any bytes and any length: a name on Linux need not be UTF-8, and a string
// would repair it.

/// A name in a directory.
package struct DirectoryName: Sendable {
  package var bytes: [UInt8]
  package var kind: FileStatus.Kind
}

extension FileSystem {
  /// A path for messages.
  package static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  /// Bytes as the system takes them.
  ///
  /// - Throws: ``SystemError`` with EINVAL for bytes that hold a NUL, which would end them.
  static func terminated(_ bytes: [UInt8]) throws(SystemError) -> [CChar] {
    guard !bytes.contains(0) else {
      throw SystemError(errno: EINVAL, call: "open", subject: text(bytes))
    }
    return bytes.map { CChar(bitPattern: $0) } + [0]
  }

  /// The names in a directory and what they name, unordered, without `.` and `..`.
  package static func names(in path: [UInt8]) throws(SystemError) -> [DirectoryName] {
    try Faults.pass(.list, "opendir", text(path))
    guard let directory = try unsafe reaching(path, { unsafe opendir($0) }) else {
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
      reaching(path) { unsafe fstatat(AT_FDCWD, $0, &raw, AT_SYMLINK_NOFOLLOW) }, "stat", path)
    return FileStatus(raw)
  }

  /// Whether anything stands at a path.
  package static func exists(_ path: [UInt8]) throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try status(path)
      return true
    } catch {
      if error.errno == ENOENT || error.errno == ENOTDIR { return false }
      throw error
    }
  }

  /// The path with every symbolic link, `.` and `..` resolved.
  package static func resolve(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    guard let raw = try unsafe reaching(path, { unsafe realpath($0, nil) }) else {
      throw SystemError(errno: errno, call: "realpath", subject: text(path))
    }
    defer { unsafe free(raw) }
    return unsafe Array(UnsafeRawBufferPointer(start: raw, count: strlen(raw)))
  }

  /// Makes a directory.
  package static func makeDirectory(
    _ path: [UInt8], permissions: UInt32 = 0o755
  ) throws(SystemError) {
    try Faults.pass(.makeDirectory, "mkdir", text(path))
    try check(reaching(path) { unsafe mkdir($0, permissions) }, "mkdir", path)
  }

  /// Removes a name that is no directory's.
  package static func unlink(_ path: [UInt8]) throws(SystemError) {
    try Faults.pass(.unlink, "unlink", text(path))
    try check(reaching(path) { unsafe Glibc.unlink($0) }, "unlink", path)
  }

  /// Makes another name of a file.
  package static func link(_ old: [UInt8], to new: [UInt8]) throws(SystemError) {
    try Faults.pass(.link, "link", text(new))
    // Both may be long, and one call inside the other would have to throw.
    var failure: SystemError?
    let result = try reaching(new) { new in
      do throws(SystemError) {
        return try reaching(old) { unsafe Glibc.link($0, new) }
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    try check(result, "link", new)
  }

  /// Makes a symbolic link.
  package static func symlink(_ target: [UInt8], at path: [UInt8]) throws(SystemError) {
    try Faults.pass(.link, "symlink", text(path))
    let target = try terminated(target)
    try check(reaching(path) { unsafe Glibc.symlink(target, $0) }, "symlink", path)
  }

  /// What a symbolic link holds.
  package static func readlink(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    try Faults.pass(.status, "readlink", text(path))
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try reaching(path) { unsafe Glibc.readlink($0, &target, target.count) }
    guard count >= 0 else { throw SystemError(errno: errno, call: "readlink", subject: text(path)) }
    return target[..<count].map { UInt8(bitPattern: $0) }
  }
}
