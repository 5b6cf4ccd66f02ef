internal import Platform

/// Bounds that say when a disk is too full for SQLite to be sure of its log.
enum DiskSpace {
  /// On a disk with smaller blocks a full disk can kill the process.
  static let mappedBlock: UInt64 = 4096
  /// A disk with less available space is nearly full.
  static let tightBytes: UInt64 = 16 << 20
}

extension StoreDatabase {
  /// Writes a value that a database has already if the disk is nearly full: the first transaction
  /// that writes touches all of the log's shared memory, for which there may be no space later.
  func takeSharedMemory(version: Int64) {
    guard let disk = try? FileSystem.fileSystem(of: path),
      disk.availableBytes < DiskSpace.tightBytes, disk.blockSize < DiskSpace.mappedBlock
    else { return }
    // If there is no space for the log, this is an error now and later.
    try? transaction { () throws(StoreError) in try execute("PRAGMA user_version=\(version)") }
  }
}
