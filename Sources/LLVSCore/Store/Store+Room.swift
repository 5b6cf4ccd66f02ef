internal import Platform

// Reserves space for SQLite's shared memory (`-shm`). SQLite writes one byte in 4 KiB of it, so with smaller blocks
// or on a full disk the process would die of SIGBUS.

extension Store {
  /// The initial shared memory of two logs, 32 KiB each, and their first frames.
  private static let neededSize: UInt64 = 96 << 10

  /// False if a reader lacks the space for SQLite's shared memory, which no process has made.
  static func hasRoomToRead(_ path: String) throws(SystemError) -> Bool {
    if try FileSystem.exists("\(path)/store.sqlite-shm") { return true }
    return try FileSystem.fileSystem(of: path).availableBytes >= neededSize
  }

  /// Checks, with the lock held, that the disk has space for opening; if not, calls `makeRoom` once.
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
      // The file is freed when this process ends, even after a crash.
      try FileSystem.unlink(name)
      // The space of a killed process's shared memory may take time to become available.
      try file.allocate(0..<neededSize, keepingSize: true)
    } catch {
      // A file system without fallocate(2) reports a full disk at the write instead.
      guard error.errno == Errno.notSupported else { throw error }
    }
    // This space, too, may be available only after the file system has written its journal.
    try File(path, [.read, .directory]).syncFileSystem()
  }
}
