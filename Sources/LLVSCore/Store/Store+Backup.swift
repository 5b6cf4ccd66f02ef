internal import Platform

package struct StoreStatistics: Hashable, Sendable {
  package var versions: Int
  package var segments: Int
  package var segmentBytes: UInt64
  package var databaseBytes: UInt64
  package var availableBytes: UInt64
}

extension Store {
  /// Copies the store in its committed state into a directory that is missing or empty. The catalog is copied
  /// first: all records that it refers to are on disk, and segments only grow. Other processes may read and write.
  ///
  /// `besides` copies the other files. It gets a function that copies the catalog, to be called again if the files
  /// have changed. `progress` gets the number of copied bytes of segments, and of all; false cancels.
  package func backup(
    to target: String,
    besides: (_ copyCatalog: () throws(StoreError) -> Void) throws(StoreError) -> Void = {
      (copyCatalog) throws(StoreError) in try copyCatalog()
    },
    progress: (_ done: UInt64, _ total: UInt64) -> Bool = { _, _ in true }
  ) throws(StoreError) {
    try makeTarget(target)
    let part = "\(target)/store.sqlite.part"
    try besides { () throws(StoreError) in
      try StoreError.wrapping { () throws(SystemError) in
        if try FileSystem.exists(part) { try FileSystem.unlink(part) }
      }
      try catalog.backup(to: part)
    }
    let numbers = try records.files.numbers()
    let total = try statistics().segmentBytes
    var done: UInt64 = 0
    for number in numbers {
      let name = SegmentFormat.name(of: number)
      try copy("\(path)/segments/\(name)", to: "\(target)/segments/\(name)") { count in
        done += count
        return progress(done, max(done, total))
      }
    }
    try StoreError.wrapping { () throws(SystemError) in
      try FileSystem.syncDirectory("\(target)/segments")
      let catalog = try File(part, .readWrite)
      try catalog.sync()
      // The directory is a store only with its catalog, so the catalog is renamed last.
      try FileSystem.rename(part, to: "\(target)/store.sqlite")
      try FileSystem.syncDirectory(target)
      try FileSystem.syncDirectory(FileSystem.directory(of: target))
    }
  }

  private func makeTarget(_ target: String) throws(StoreError) {
    do throws(SystemError) {
      if try !FileSystem.exists(target) { try FileSystem.makeDirectory(target, permissions: 0o700) }
      guard try FileSystem.list(target).isEmpty else {
        throw SystemError(errno: Errno.notEmpty, call: "backup", subject: target)
      }
      try FileSystem.makeDirectory("\(target)/segments", permissions: 0o700)
    } catch {
      if error.errno == Errno.notEmpty { throw .exists("\(target) is not empty") }
      throw .system(error)
    }
  }

  private func copy(
    _ source: String, to target: String, progress: (UInt64) -> Bool
  ) throws(StoreError) {
    var isCancelled = false
    try StoreError.translating(
      try File.regular(source, .read).copy(to: target) { count in
        isCancelled = !progress(count)
        return !isCancelled
      })
    if isCancelled { throw .cancelled }
  }

  package func statistics() throws(StoreError) -> StoreStatistics {
    let versions = Int(try state().lastNumber)
    return try StoreError.wrapping { () throws(SystemError) in
      let names = try FileSystem.list("\(path)/segments")
      var bytes: UInt64 = 0
      for name in names { bytes += try FileSystem.status("\(path)/segments/\(name)").size }
      var databases: UInt64 = 0
      for name in ["store.sqlite", "store.sqlite-wal", "index.sqlite", "index.sqlite-wal"]
      where try FileSystem.exists("\(path)/\(name)") {
        databases += try FileSystem.status("\(path)/\(name)").size
      }
      return StoreStatistics(
        versions: versions, segments: names.count, segmentBytes: bytes, databaseBytes: databases,
        availableBytes: try FileSystem.fileSystem(of: path).availableBytes)
    }
  }
}
