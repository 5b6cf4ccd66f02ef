internal import Platform

// Space for SQLite's shared memory (`-shm`), of which SQLite writes one byte in 4 KiB: where blocks are
// smaller or the disk is full the process then dies of SIGBUS, unless there was space before.

extension Store {
  /// The initial shared memory of two logs, 32 KiB each, and their first frames.
  private static let neededSize: UInt64 = 96 << 10

  /// Checks, locked, that the disk has the space for opening; if not, calls `makeRoom` once.
  static func ensureRoom(_ path: String, makeRoom: ((String) -> Void)?) throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      let disk = try FileSystem.fileSystem(of: path)
      guard disk.availableBytes < DiskSpace.tightBytes else { return }
      do throws(SystemError) {
        try probeRoom(path)
      } catch {
        guard error.isFull else { throw error }
        makeRoom?(path)
        do throws(SystemError) {
          try probeRoom(path)
        } catch {
          // SQLite may need less, and reports an error otherwise.
          guard error.isFull, disk.blockSize >= DiskSpace.mappedBlock else { throw error }
        }
      }
    }
  }

  private static func probeRoom(_ path: String) throws(SystemError) {
    let name = "\(path)/room"
    if try FileSystem.exists(name) { try FileSystem.unlink(name) }
    do throws(SystemError) {
      let file = try File.kept(name, [.readWrite, .create, .exclusive])
      // The file is freed when this process ends, whatever happens.
      try FileSystem.unlink(name)
      // The space of shared-memory files of a killed process may not be available at once.
      try file.allocate(0..<neededSize, keepingSize: true)
    } catch {
      // A file system without fallocate(2) reports a full disk at the write instead.
      guard error.errno == Errno.notSupported else { throw error }
    }
    // Nor may this space be available before the file system's own journal is written.
    try File(path, [.read, .directory]).syncFileSystem()
  }
}

extension SystemError {
  var isFull: Bool { errno == Errno.noSpace || errno == Errno.quota }
}
