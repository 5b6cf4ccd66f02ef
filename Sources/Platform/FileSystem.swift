internal import CShims
internal import Glibc

package enum FileSystem {
  /// The effect on an existing target.
  package enum RenameMode: Sendable { case replacing, exclusive, exchanging }

  /// Each path is relative to its directory, if any.
  package static func rename(
    _ old: String, in directory: File? = nil, to new: String, in target: File? = nil,
    _ mode: RenameMode = .replacing
  ) throws(SystemError) {
    func subject() -> String { target.map { "\($0.path)/\(new)" } ?? new }
    if Faults.isOn { try Faults.pass(.rename, "rename", subject()) }
    let flags: UInt32 =
      switch mode {
      case .replacing: 0
      case .exclusive: 1  // RENAME_NOREPLACE
      case .exchanging: 2  // RENAME_EXCHANGE
      }
    let (from, to) = (directory?.descriptor ?? AT_FDCWD, target?.descriptor ?? AT_FDCWD)
    guard unsafe llvs_rename(from, old, to, new, flags) == 0 else {
      let code = errno
      throw SystemError(errno: code, call: "rename", subject: subject())
    }
  }

  /// Returns the target of a symbolic link; bytes that are not UTF-8 are replaced.
  package static func readlink(_ path: String) throws(SystemError) -> String {
    try text(readlink(Array(path.utf8)))
  }

  package static func unlink(_ name: String, in directory: File) throws(SystemError) {
    if Faults.isOn { try Faults.pass(.unlink, "unlink", "\(directory.path)/\(name)") }
    guard unsafe unlinkat(directory.descriptor, name, 0) == 0 else {
      throw SystemError(errno: errno, call: "unlink", subject: "\(directory.path)/\(name)")
    }
  }

  /// Returns the metadata of a file; `following` is for a symbolic link at the path's end.
  package static func status(
    _ path: String, in directory: File? = nil, following: Bool = true
  ) throws(SystemError) -> FileStatus {
    if Faults.isOn {
      try Faults.pass(.status, "stat", directory.map { "\($0.path)/\(path)" } ?? path)
    }
    var raw = stat()
    let flags = following ? 0 : AT_SYMLINK_NOFOLLOW
    try check(unsafe fstatat(directory?.descriptor ?? AT_FDCWD, path, &raw, flags), "stat", path)
    return FileStatus(raw)
  }

  package static func fileSystem(of path: String) throws(SystemError) -> FileSystemStatus {
    try Faults.pass(.status, "statfs", path)
    var raw = llvs_statfs()
    try check(unsafe llvs_statfs(path, &raw), "statfs", path)
    return FileSystemStatus(raw)
  }

  /// Returns the names in a directory, unordered, without `.` and `..`.
  package static func list(_ path: String) throws(SystemError) -> [String] {
    try entries(in: Array(path.utf8)).map(text)
  }

  /// The same of an open directory, which may have another name by now.
  package static func list(_ directory: File) throws(SystemError) -> [String] {
    if Faults.isOn { try Faults.pass(.list, "opendir", directory.path) }
    return try entries(in: Array("/proc/self/fd/\(directory.descriptor)".utf8)).map(text)
  }

  package static func syncDirectory(_ path: String) throws(SystemError) {
    try File(path, [.read, .directory]).sync()
  }

  /// Replaces a file durably: after a crash it holds all the old bytes or all the new ones.
  package static func replace(
    _ path: String, with bytes: [UInt8], permissions: UInt32 = 0o644
  ) throws(SystemError) {
    let temporary = "\(path).\(SystemRandom.hex(8)).tmp"
    do throws(SystemError) {
      let file = try File.kept(
        temporary, [.readWrite, .create, .exclusive], permissions: permissions)
      try file.write(bytes, at: 0)
      try file.sync()
      try rename(temporary, to: path)
    } catch {
      _ = unsafe Glibc.unlink(temporary)
      throw error
    }
    try syncDirectory(directory(of: path))
  }

  /// Returns all bytes of a file; EFBIG if it is longer than the bound.
  package static func read(_ path: String, atMost bound: Int) throws(SystemError) -> [UInt8] {
    let file = try File(path, .read)
    let bytes = try file.read(bound + 1, at: 0)
    guard bytes.count <= bound else {
      throw SystemError(errno: EFBIG, call: "read", subject: path)
    }
    return bytes
  }

  package static func resolve(_ path: String) throws(SystemError) -> String {
    guard let resolved = try String(validating: resolve(Array(path.utf8)), as: UTF8.self) else {
      throw SystemError(errno: EILSEQ, call: "realpath", subject: path)
    }
    return resolved
  }

  /// True if this process may write a file, or make files in a directory.
  package static func isWritable(_ path: String) -> Bool {
    (try? reaching(Array(path.utf8)) { unsafe access($0, W_OK) }) == 0
  }

  /// Returns the part of a path before its last `/`; `.` without one.
  package static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
  }
}
