internal import CShims
internal import Glibc

// Root may mount another user's store: files that root makes there must not lock the owner out.

extension File {
  /// Opens a regular file, else EINVAL; a created one gets the owner of its directory, or is removed if that fails.
  package static func kept(
    _ path: String, _ mode: Mode, permissions: UInt32 = 0o600
  ) throws(SystemError) -> File {
    let file = try made(path, mode.union(.nonBlocking), permissions: permissions)
    // A file created by this call is regular.
    return mode.contains(.exclusive) ? file : try file.checkedToBeRegular()
  }

  /// Opens an existing regular file, not through a symbolic link; EINVAL for another kind. Without O_NONBLOCK,
  /// opening a FIFO would block uninterruptibly where the kernel waits for this process.
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
  package static func makeKeptDirectory(
    _ path: String, permissions: UInt32 = 0o700
  ) throws(SystemError) {
    try makeDirectory(path, permissions: permissions)
    guard SystemProcess.effectiveUser == 0 else { return }
    try File(path, [.read, .directory, .noFollow]).changeOwner(toOwnerOf: directory(of: path))
  }
}
