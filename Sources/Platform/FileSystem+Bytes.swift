internal import CShims
internal import Glibc

// Calls by paths of any bytes and any length: a name on Linux need not be UTF-8, and a `String`
// would replace bytes that are not.

/// A name in a directory, and the kind of file that it names.
package struct DirectoryName: Sendable {
  /// The name's bytes, without a slash.
  package var bytes: [UInt8]
  /// The kind of the file.
  package var kind: FileStatus.Kind
}

extension FileSystem {
  /// Returns a path as text for messages; bytes that are not UTF-8 are replaced.
  package static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  /// Returns bytes with a NUL at the end, as system calls take them.
  ///
  /// - Throws: ``SystemError`` with EINVAL for bytes that hold a NUL, which would cut them short.
  static func terminated(_ bytes: [UInt8]) throws(SystemError) -> [CChar] {
    guard !bytes.contains(0) else {
      throw SystemError(errno: EINVAL, call: "open", subject: text(bytes))
    }
    return bytes.map { CChar(bitPattern: $0) } + [0]
  }

  /// Returns the names in a directory and the kinds of their files, unordered, without `.` and
  /// `..`.
  ///
  /// - Complexity: a system call for each name.
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

  /// Returns the metadata of the file at a path; a symbolic link at its end is not followed.
  package static func status(_ path: [UInt8]) throws(SystemError) -> FileStatus {
    if Faults.isOn { try Faults.pass(.status, "stat", text(path)) }
    var raw = stat()
    try check(
      reaching(path) { unsafe fstatat(AT_FDCWD, $0, &raw, AT_SYMLINK_NOFOLLOW) }, "stat", path)
    return FileStatus(raw)
  }

  /// Returns true if there is a file of any kind at a path.
  package static func exists(_ path: [UInt8]) throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try status(path)
      return true
    } catch {
      if error.errno == ENOENT || error.errno == ENOTDIR { return false }
      throw error
    }
  }

  /// Returns the path with every symbolic link, `.` and `..` resolved.
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

  /// Removes a name that is not a directory's.
  package static func unlink(_ path: [UInt8]) throws(SystemError) {
    try Faults.pass(.unlink, "unlink", text(path))
    try check(reaching(path) { unsafe Glibc.unlink($0) }, "unlink", path)
  }

  /// Makes another name for a file.
  package static func link(_ old: [UInt8], to new: [UInt8]) throws(SystemError) {
    try Faults.pass(.link, "link", text(new))
    // Either path may be too long for one call, and the inner closure cannot throw.
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

  /// Returns the target of a symbolic link.
  package static func readlink(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    try Faults.pass(.status, "readlink", text(path))
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try reaching(path) { unsafe Glibc.readlink($0, &target, target.count) }
    guard count >= 0 else { throw SystemError(errno: errno, call: "readlink", subject: text(path)) }
    return target[..<count].map { UInt8(bitPattern: $0) }
  }
}
