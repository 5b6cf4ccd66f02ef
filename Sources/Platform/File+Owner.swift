internal import CShims
internal import Glibc

// Root may mount and read what belongs to somebody else: what is made there meanwhile must not shut the owner
// out of his own directory.

extension File {
  /// Opens a file, which is made where it is not there, and then belongs to whom its directory belongs to.
  ///
  /// Only what was made just now is given away: a name that leads to another's file changes nothing. Nothing is
  /// left of a file that was made for an error: who tries again under the name makes it.
  ///
  /// - Throws: what open(2) says, and EINVAL where no regular file has the name.
  package static func kept(
    _ path: String, _ mode: Mode, permissions: UInt32 = 0o600
  ) throws(SystemError) -> File {
    let file = try made(path, mode.union(.nonBlocking), permissions: permissions)
    // What this very call made is one.
    return mode.contains(.exclusive) ? file : try file.checkedToBeRegular()
  }

  /// Opens a file that is there, and is no link.
  ///
  /// To open a FIFO would be to wait for who has its other end, out of every signal's reach where the kernel
  /// waits for this process in its turn.
  ///
  /// - Throws: what open(2) says, and EINVAL where no regular file has the name.
  package static func regular(_ path: String, _ mode: Mode) throws(SystemError) -> File {
    try File(path, mode.union([.noFollow, .nonBlocking])).checkedToBeRegular()
  }

  private func checkedToBeRegular() throws(SystemError) -> File {
    guard try status().kind == .regular else {
      throw SystemError(errno: Errno.invalid, call: "open as a regular file", subject: path)
    }
    return self
  }

  private static func made(
    _ path: String, _ mode: Mode, permissions: UInt32
  ) throws(SystemError) -> File {
    guard SystemProcess.effectiveUser == 0, mode.contains(.create) else {
      return try File(path, mode, permissions: permissions)
    }
    do throws(SystemError) {
      let file = try File(path, mode.union(.exclusive), permissions: permissions)
      do throws(SystemError) {
        try file.give(toOwnerOf: FileSystem.directory(of: path))
      } catch {
        try? FileSystem.unlink(path)
        throw error
      }
      return file
    } catch {
      guard error.errno == Errno.exists, !mode.contains(.exclusive) else { throw error }
      return try File(path, mode, permissions: permissions)
    }
  }

  fileprivate func give(toOwnerOf directory: String) throws(SystemError) {
    let owner = try FileSystem.status(directory)
    guard owner.uid != 0 else { return }
    guard fchown(descriptor, owner.uid, owner.gid) == 0 else { throw failed("fchown", errno) }
  }
}

extension FileSystem {
  /// Makes a directory that belongs to whom the one above it belongs to.
  package static func makeKeptDirectory(
    _ path: String, permissions: UInt32 = 0o700
  ) throws(SystemError) {
    try makeDirectory(path, permissions: permissions)
    guard SystemProcess.effectiveUser == 0 else { return }
    try File(path, [.read, .directory, .noFollow]).give(toOwnerOf: directory(of: path))
  }
}
