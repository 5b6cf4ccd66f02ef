internal import CShims
internal import Glibc

// Root may mount and read another user's store: files that root makes there must not lock the owner
// out of the directory.

extension File {
  /// Opens a file, and creates it if the mode says so; a created file gets the owner of its
  /// directory.
  ///
  /// Only a file that this call created changes its owner: a name that leads to another file
  /// changes nothing. If changing the owner fails the new file is removed, so that a later call
  /// creates it again.
  ///
  /// - Throws: the error of open(2); EINVAL if the name is not that of a regular file.
  package static func kept(
    _ path: String, _ mode: Mode, permissions: UInt32 = 0o600
  ) throws(SystemError) -> File {
    let file = try made(path, mode.union(.nonBlocking), permissions: permissions)
    // A file that this call has just created is regular.
    return mode.contains(.exclusive) ? file : try file.checkedToBeRegular()
  }

  /// Opens an existing regular file; a symbolic link at the end of the path is not followed.
  ///
  /// Opening a FIFO without O_NONBLOCK would wait for its other end, and no signal could interrupt
  /// that where the kernel waits for this process in turn.
  ///
  /// - Throws: the error of open(2); EINVAL if the name is not that of a regular file.
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
        try file.changeOwner(toOwnerOf: FileSystem.directory(of: path))
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

  fileprivate func changeOwner(toOwnerOf directory: String) throws(SystemError) {
    let owner = try FileSystem.status(directory)
    guard owner.uid != 0 else { return }
    guard fchown(descriptor, owner.uid, owner.gid) == 0 else { throw failed("fchown", errno) }
  }
}

extension FileSystem {
  /// Makes a directory that gets the owner of the directory above it.
  package static func makeKeptDirectory(
    _ path: String, permissions: UInt32 = 0o700
  ) throws(SystemError) {
    try makeDirectory(path, permissions: permissions)
    guard SystemProcess.effectiveUser == 0 else { return }
    try File(path, [.read, .directory, .noFollow]).changeOwner(toOwnerOf: directory(of: path))
  }
}
