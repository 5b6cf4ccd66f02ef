internal import Platform

/// The limits for a disk that may be too full for SQLite's log.
enum DiskSpace {
  /// With smaller blocks a full disk can kill the process.
  static let mappedBlock: UInt64 = 4096
  /// With less available space a disk is nearly full.
  static let tightBytes: UInt64 = 16 << 20
}

extension StoreDatabase {
  /// On a nearly full disk, rewrites a value of the database: the first transaction that writes touches all of the
  /// log's shared memory, and later there may be no space for it.
  func takeSharedMemory(version: Int64) {
    guard let disk = try? FileSystem.fileSystem(of: path),
      disk.availableBytes < DiskSpace.tightBytes, disk.blockSize < DiskSpace.mappedBlock
    else { return }
    // Without space for the log this is an error now and later.
    try? transaction { () throws(StoreError) in try execute("PRAGMA user_version=\(version)") }
  }
}
