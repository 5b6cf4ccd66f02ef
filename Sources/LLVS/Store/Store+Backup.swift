internal import Platform

/// Sizes of a store.
public struct StoreStatistics: Hashable, Sendable {
  /// Versions in the store.
  public var versions: Int
  /// Segment files.
  public var segments: Int
  /// Their bytes.
  public var segmentBytes: UInt64
  /// Bytes of the catalog and the index.
  public var databaseBytes: UInt64
  /// Bytes that the file system still has room for.
  public var availableBytes: UInt64
}

extension Store {
  /// Copies the store, as it is committed now, into a directory that is not there or empty.
  ///
  /// Others may go on reading and writing. The catalog is copied first: everything it names is on disk
  /// then, and segments only ever grow.
  ///
  /// `progress` is called with the bytes of segments copied so far and in all; false cancels.
  package func backup(
    to target: String, progress: (_ done: UInt64, _ total: UInt64) -> Bool = { _, _ in true }
  ) throws(StoreError) {
    try makeTarget(target)
    try catalog.backup(to: "\(target)/store.sqlite.part")
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
    do throws(SystemError) {
      try FileSystem.syncDirectory("\(target)/segments")
      let catalog = try File("\(target)/store.sqlite.part", .readWrite)
      try catalog.sync()
      // Only with its catalog the directory is a store: that name comes last.
      try FileSystem.rename("\(target)/store.sqlite.part", to: "\(target)/store.sqlite")
      try FileSystem.syncDirectory(target)
      try FileSystem.syncDirectory(FileSystem.directory(of: target))
    } catch {
      throw .system(error)
    }
  }

  private func makeTarget(_ target: String) throws(StoreError) {
    do throws(SystemError) {
      if try !FileSystem.exists(target) { try FileSystem.makeDirectory(target) }
      guard try FileSystem.list(target).isEmpty else {
        throw SystemError(errno: Errno.notEmpty, call: "backup", subject: target)
      }
      try FileSystem.makeDirectory("\(target)/segments")
    } catch {
      if error.errno == Errno.notEmpty { throw .exists("\(target) is not empty") }
      throw .system(error)
    }
  }

  private func copy(
    _ source: String, to target: String, progress: (UInt64) -> Bool
  ) throws(StoreError) {
    var isCancelled = false
    do throws(SystemError) {
      let (from, to) = (
        try File(source, .read), try File(target, [.readWrite, .create, .exclusive])
      )
      var offset: UInt64 = 0
      while !isCancelled {
        let bytes = try from.read(1 << 20, at: offset)
        if bytes.isEmpty { break }
        try to.write(bytes, at: offset)
        offset += UInt64(bytes.count)
        isCancelled = !progress(UInt64(bytes.count))
      }
      try to.syncData()
    } catch {
      throw .system(error)
    }
    if isCancelled { throw .cancelled }
  }

  /// Returns how large the store is.
  ///
  /// - Throws: ``StoreError/system(_:)`` if its files cannot be looked at.
  public func statistics() throws(StoreError) -> StoreStatistics {
    let versions = Int(try state().lastNumber)
    do throws(SystemError) {
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
    } catch {
      throw .system(error)
    }
  }
}
