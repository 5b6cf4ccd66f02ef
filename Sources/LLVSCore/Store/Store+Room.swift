internal import Platform

// Room for SQLite. What its connections share of a log (`-shm`) is mapped memory, allotted by one byte of every
// 4 KiB: on a disk of smaller blocks that leaves holes, and a full disk then ends the process by SIGBUS where
// it should answer an error. So there has to be room before a database is opened.

extension Store {
  /// What the shared memory of two logs has at first, 32 KiB each, and their first frames.
  private static let neededSize: UInt64 = 96 << 10
  /// A disk of smaller blocks is one where a full disk can end the process.
  private static let mappedBlock: UInt64 = 4096
  /// Below this a disk is nearly full.
  private static let tightBytes: UInt64 = 16 << 20

  /// Makes sure that the disk has room for what opening a store's databases allots.
  ///
  /// - Parameters:
  ///   - path: the store, whose lock the caller holds.
  ///   - makeRoom: called once where there is none.
  /// - Throws: ``StoreError/system(_:)`` where there is none after that either and the process might be
  ///   ended for it.
  static func ensureRoom(
    _ path: String, makeRoom: ((String) -> Void)?
  ) throws(StoreError) {
    do throws(SystemError) {
      let disk = try FileSystem.fileSystem(of: path)
      guard disk.availableBytes < tightBytes else { return }
      do throws(SystemError) {
        try probeRoom(path)
      } catch {
        guard isFull(error) else { throw error }
        makeRoom?(path)
        do throws(SystemError) {
          try probeRoom(path)
        } catch {
          // SQLite may do with less, and says so if not.
          guard isFull(error), disk.blockSize >= mappedBlock else { throw error }
        }
      }
    } catch {
      throw .system(error)
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
      // Its room goes with this process, whatever happens.
      try FileSystem.unlink(name)
      // What SQLite gives back of those that a killed process left may not be had again at once.
      try file.allocate(0..<neededSize, keepingSize: true)
    } catch {
      // A file system without fallocate(2) reports a full disk at the write instead.
      guard error.errno == Errno.notSupported else { throw error }
    }
    // Nor may this be had before the file system's own journal has it.
    try File(path, [.read, .directory]).syncFileSystem()
  }

  /// Writes what a database has already, where the disk is nearly full: the first transaction that writes
  /// touches all of the log's shared memory, for which there may be no room later.
  static func takeSharedMemory(of database: StoreDatabase, version: Int64) {
    guard let disk = try? FileSystem.fileSystem(of: database.path),
      disk.availableBytes < tightBytes, disk.blockSize < mappedBlock
    else { return }
    // Where there is no room for the log it answers an error, then and later.
    try? database.transaction { () throws(StoreError) in
      try database.execute("PRAGMA user_version=\(version)")
    }
  }
}
