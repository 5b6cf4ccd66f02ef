internal import Platform

// Space for SQLite's shared memory. SQLite's connections share a mapped file (`-shm`), which SQLite
// allocates by writing one byte of every 4 KiB: on a disk with smaller blocks that leaves holes,
// and on a full disk the process then dies of SIGBUS instead of getting an error. So there must be
// space before a database is opened.

extension Store {
  /// The initial shared memory of two logs, 32 KiB each, and their first frames.
  private static let neededSize: UInt64 = 96 << 10

  /// Checks that the disk has the space that opening a store's databases allocates, the store's lock held;
  /// calls `makeRoom` once if it has not.
  static func ensureRoom(
    _ path: String, makeRoom: ((String) -> Void)?
  ) throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      let disk = try FileSystem.fileSystem(of: path)
      guard disk.availableBytes < DiskSpace.tightBytes else { return }
      do throws(SystemError) {
        try probeRoom(path)
      } catch {
        guard isFull(error) else { throw error }
        makeRoom?(path)
        do throws(SystemError) {
          try probeRoom(path)
        } catch {
          // SQLite may need less, and reports an error otherwise.
          guard isFull(error), disk.blockSize >= DiskSpace.mappedBlock else { throw error }
        }
      }
    }
  }

  private static func isFull(_ error: SystemError) -> Bool {
    error.errno == Errno.noSpace || error.errno == Errno.quota
  }

  private static func probeRoom(
    _ path: String
  ) throws(SystemError) {
    let name = "\(path)/room"
    if try FileSystem.exists(name) { try FileSystem.unlink(name) }
    do throws(SystemError) {
      let file = try File.kept(name, [.readWrite, .create, .exclusive])
      // The file is freed when this process ends, whatever happens.
      try FileSystem.unlink(name)
      // The space of shared-memory files that a killed process left may not be available at once
      // when SQLite removes them.
      try file.allocate(0..<neededSize, keepingSize: true)
    } catch {
      // A file system without fallocate(2) reports a full disk at the write instead.
      guard error.errno == Errno.notSupported else { throw error }
    }
    // Nor may this space be available before the file system's own journal is written.
    try File(path, [.read, .directory]).syncFileSystem()
  }
}
