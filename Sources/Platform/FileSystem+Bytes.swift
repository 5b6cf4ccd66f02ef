internal import CShims
internal import Glibc

// Calls by paths of any bytes and length, which need not be UTF-8.

/// A path, as text or as bytes.
package protocol PathBytes {
  var pathBytes: [UInt8] { get }
}

extension String: PathBytes {
  package var pathBytes: [UInt8] { Array(utf8) }
}

extension [UInt8]: PathBytes {
  package var pathBytes: [UInt8] { self }
}

package struct DirectoryName: Sendable {
  package var bytes: [UInt8]
  package var kind: FileStatus.Kind
}

extension FileSystem {
  package static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  /// Returns bytes with a NUL at the end; EINVAL for bytes with a NUL.
  static func terminated(_ bytes: [UInt8]) throws(SystemError) -> [CChar] {
    guard !bytes.contains(0) else {
      throw SystemError(errno: EINVAL, call: "open", subject: text(bytes))
    }
    return bytes.map { CChar(bitPattern: $0) } + [0]
  }

  /// Returns the names in a directory, unordered, without `.` and `..`, with a system call for each.
  package static func names(in path: [UInt8]) throws(SystemError) -> [DirectoryName] {
    try entries(in: path).map { (name) throws(SystemError) in
      DirectoryName(bytes: name, kind: try status(path + [0x2F] + name).kind)
    }
  }

  static func entries(in path: [UInt8]) throws(SystemError) -> [[UInt8]] {
    try Faults.pass(.list, "opendir", text(path))
    guard let directory = try unsafe reaching(path, { unsafe opendir($0) }) else {
      throw SystemError(errno: errno, call: "opendir", subject: text(path))
    }
    defer { unsafe _ = closedir(directory) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(directory) else {
        if errno == 0 { return names }
        throw SystemError(errno: errno, call: "readdir", subject: text(path))
      }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        // d_name is NUL-terminated (readdir(3)).
        unsafe $0.withMemoryRebound(to: UInt8.self, capacity: 256) {
          let count = unsafe strlen(UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
          return unsafe Array(UnsafeBufferPointer(start: $0, count: count))
        }
      }
      if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
    }
  }

  /// Returns the metadata of a file or symbolic link.
  package static func status(_ path: [UInt8]) throws(SystemError) -> FileStatus {
    if Faults.isOn { try Faults.pass(.status, "stat", text(path)) }
    var raw = stat()
    try check(
      reaching(path) { unsafe fstatat(AT_FDCWD, $0, &raw, AT_SYMLINK_NOFOLLOW) }, "stat", path)
    return FileStatus(raw)
  }

  package static func exists(_ path: some PathBytes) throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try status(path.pathBytes)
      return true
    } catch  where error.errno == ENOENT || error.errno == ENOTDIR {
      return false
    }
  }

  /// Returns the path without symbolic links, `.` and `..`.
  package static func resolve(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    guard let raw = try unsafe reaching(path, { unsafe realpath($0, nil) }) else {
      throw SystemError(errno: errno, call: "cannot find", subject: text(path))
    }
    defer { unsafe free(raw) }
    return unsafe Array(UnsafeRawBufferPointer(start: raw, count: strlen(raw)))
  }

  /// Makes a directory; `permissions` is its mode before the umask.
  package static func makeDirectory(
    _ path: some PathBytes, permissions: UInt32 = 0o755
  ) throws(SystemError) {
    let path = path.pathBytes
    try Faults.pass(.makeDirectory, "mkdir", text(path))
    try check(reaching(path) { unsafe mkdir($0, permissions) }, "mkdir", path)
  }

  /// Removes a name of a file, not of a directory.
  package static func unlink(_ path: some PathBytes) throws(SystemError) {
    let path = path.pathBytes
    try Faults.pass(.unlink, "unlink", text(path))
    try check(reaching(path) { unsafe Glibc.unlink($0) }, "unlink", path)
  }

  package static func removeDirectory(_ path: some PathBytes) throws(SystemError) {
    let path = path.pathBytes
    try Faults.pass(.removeDirectory, "rmdir", text(path))
    try check(reaching(path) { unsafe rmdir($0) }, "rmdir", path)
  }

  /// Removes a file or a directory with everything in it, if it exists.
  package static func removeTree(_ path: some PathBytes) throws(SystemError) {
    let path = path.pathBytes
    guard try exists(path) else { return }
    guard try status(path).kind == .directory else { return try unlink(path) }
    for name in try entries(in: path) { try removeTree(path + [0x2F] + name) }
    try removeDirectory(path)
  }

  package static func link(_ old: some PathBytes, to new: some PathBytes) throws(SystemError) {
    let (old, new) = (old.pathBytes, new.pathBytes)
    try Faults.pass(.link, "link", text(new))
    // Either path may be too long for one call.
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

  package static func symlink(_ target: some PathBytes, at path: some PathBytes) throws(SystemError)
  {
    let path = path.pathBytes
    try Faults.pass(.link, "symlink", text(path))
    let target = try terminated(target.pathBytes)
    try check(reaching(path) { unsafe Glibc.symlink(target, $0) }, "symlink", path)
  }

  package static func readlink(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
    try Faults.pass(.status, "readlink", text(path))
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try reaching(path) { unsafe Glibc.readlink($0, &target, target.count) }
    try check(count, "readlink", path)
    return target[..<count].map { UInt8(bitPattern: $0) }
  }
}
