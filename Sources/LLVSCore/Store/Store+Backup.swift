internal import Platform
internal import SQLite

package struct StoreStatistics: Hashable, Sendable {
  package var versions: Int
  package var segments: Int
  package var segmentBytes: UInt64
  package var databaseBytes: UInt64
  package var availableBytes: UInt64
}

extension Store {
  private static let catalogName = "store.sqlite"
  /// How often a copy is begun while old versions are forgotten.
  private static let attempts = 3
  private static let logSuffixes = ["-journal", "-wal", "-shm"]

  /// Copies the store in its committed state into a directory. The catalog is copied first: all records that it
  /// refers to are on disk, and segments only grow. If old versions are forgotten concurrently, both are copied again.
  /// Records that are gone are not copied, and are removed from an earlier copy after it has the catalog that says so
  /// (S12). Other processes may read and write.
  ///
  /// The directory is missing or empty, or holds an earlier copy, whole or interrupted; only what differs is written
  /// then. `settings` are set in the copy. `besides` copies the other files, `others`, each to its name with `.part`.
  /// It gets a function that copies the catalog, to be called again if the files have changed. `progress` gets the
  /// number of bytes of segments that were compared or copied, and of all; false cancels.
  /// - Returns: the number of bytes of segments that were written.
  @discardableResult
  package func backup(
    to target: String, settings: [String: [UInt8]] = [:], others: [String] = [],
    besides: (_ copyCatalog: () throws(StoreError) -> Void) throws(StoreError) -> Void = {
      (copyCatalog) throws(StoreError) in try copyCatalog()
    },
    progress: (_ done: UInt64, _ total: UInt64) -> Bool = { _, _ in true }
  ) throws(StoreError) -> UInt64 {
    try makeTarget(target, others)
    let part = "\(target)/\(Self.catalogName).part"
    var written: UInt64 = 0
    var gone: [UInt32: GoneRanges] = [:]
    var isCurrent = false
    for _ in 0..<Self.attempts where !isCurrent {
      gone = try allGone()
      try besides { () throws(StoreError) in
        try StoreError.wrapping { () throws(SystemError) in
          for suffix in [""] + Self.logSuffixes { try FileSystem.removeTree(part + suffix) }
        }
        try catalog.read { (database) throws(StoreError) in try database.copy(to: part) }
      }
      if !settings.isEmpty { try Self.set(settings, inCatalog: part) }
      written += try copySegments(to: target, besides: gone, progress: progress)
      isCurrent = try allGone() == gone
    }
    guard isCurrent else { throw .busy("old versions are being forgotten; back up afterwards") }
    try StoreError.wrapping { () throws(SystemError) in
      try FileSystem.syncDirectory("\(target)/segments")
      try File(part, .readWrite).sync()
      try FileSystem.syncDirectory(target)
      // The directory is a store only with its catalog, so the catalog is removed first and renamed last.
      for suffix in [""] + Self.logSuffixes {
        try FileSystem.removeTree("\(target)/\(Self.catalogName)\(suffix)")
      }
      for name in others.map({ "\(target)/\($0)" }) {
        try FileSystem.removeTree(name)
        if try FileSystem.exists("\(name).part") { try FileSystem.rename("\(name).part", to: name) }
      }
      try FileSystem.syncDirectory(target)
      try FileSystem.rename(part, to: "\(target)/\(Self.catalogName)")
      for suffix in Self.logSuffixes { try FileSystem.removeTree(part + suffix) }
      try FileSystem.syncDirectory(target)
      try FileSystem.syncDirectory(FileSystem.directory(of: target))
      for (segment, ranges) in gone {
        let name = "\(target)/segments/\(SegmentFormat.name(of: segment))"
        guard try FileSystem.exists(name) else { continue }
        let status = try FileSystem.status(name)
        _ = try ranges.free(in: name)
        // The segment is still equal to the store's.
        try FileSystem.setModified(
          Array(name.utf8), seconds: status.modifiedSeconds,
          nanoseconds: status.modifiedNanoseconds)
      }
    }
    return written
  }

  private func allGone() throws(StoreError) -> [UInt32: GoneRanges] {
    try catalog.readView { (database) throws(StoreError) in
      var gone: [UInt32: GoneRanges] = [:]
      for segment in try database.segmentsWithGone() {
        // What is unknown of a segment is copied.
        if let ranges = try? database.gone(in: segment) { gone[segment] = ranges }
      }
      return gone
    }
  }

  private func copySegments(
    to target: String, besides gone: [UInt32: GoneRanges],
    progress: (_ done: UInt64, _ total: UInt64) -> Bool
  ) throws(StoreError) -> UInt64 {
    let total = try statistics().segmentBytes
    var done: UInt64 = 0
    var written: UInt64 = 0
    for number in try records.files.numbers() {
      written += try refresh(
        "\(target)/segments/\(SegmentFormat.name(of: number))", from: number,
        besides: gone[number] ?? GoneRanges()
      ) { count in
        done += count
        return progress(done, max(done, total))
      }
    }
    return written
  }

  private func makeTarget(_ target: String, _ others: [String]) throws(StoreError) {
    let names = try StoreError.wrapping { () throws(SystemError) in
      if try !FileSystem.exists(target) { try FileSystem.makeDirectory(target, permissions: 0o700) }
      return Set(try FileSystem.list(target))
    }
    // A store that was opened for writing has other files too.
    let databases = [Self.catalogName, "\(Self.catalogName).part", "index.sqlite"]
    let own =
      ["segments", "readers"]
      + databases.flatMap { name in ([""] + Self.logSuffixes).map { name + $0 } }
      + others + others.map { "\($0).part" }
    guard names.isSubset(of: own) else {
      throw .exists(
        "\(target) is not empty, and no unchanged copy of this store: name another directory. Commands such as "
          + "status and diff open a copy for changes; remove such a copy first")
    }
    if names.contains(Self.catalogName) {
      let copy = try Store.open(path: target, mode: .reader, isForced: true)
      guard copy.storeID == storeID, copy.replicaID == replicaID else {
        throw .exists("\(target) is a copy of another store; name another directory")
      }
    }
    let segments = "\(target)/segments"
    guard names.contains("segments") else {
      return try StoreError.translating(
        try FileSystem.makeDirectory(segments, permissions: 0o700))
    }
    for number in try SegmentFiles(directory: segments, store: storeID).numbers() {
      let name = "\(segments)/\(SegmentFormat.name(of: number))"
      let header = try StoreError.translating(
        try File.regular(name, .read).read(SegmentFormat.headerSize, at: 0))
      // The copy of a segment may have been interrupted, or the segment has no header.
      guard
        header.count < SegmentFormat.headerSize || !header.starts(with: SegmentFormat.magic)
          || header[16..<32].elementsEqual(storeID)
      else {
        throw .exists("\(target) holds a part of a copy of another store")
      }
    }
  }

  private static func set(
    _ settings: [String: [UInt8]], inCatalog path: String
  ) throws(StoreError) {
    let database = try StoreDatabase(path: path, mode: .readWrite)
    try database.transaction { () throws(StoreError) in
      for (name, value) in settings { try database.setSetting(name, value) }
    }
    database.emptyLog()
  }

  /// Opens a segment. One without a header, as a power failure leaves it before its first record, and a damaged one
  /// are copied as they are.
  private func openForCopy(_ segment: UInt32) throws(StoreError) -> SegmentFile {
    do throws(StoreError) {
      return try records.files.open(segment, .read)
    } catch {
      guard case .corrupt = error else { throw error }
      let path = records.files.path(segment)
      return SegmentFile(file: try StoreError.translating(try File.regular(path, .read)), runs: nil)
    }
  }

  /// Makes a segment of a copy equal to the store's, and returns the number of bytes that were written. Segments with
  /// one length and one time of change are equal. The copy of a rewritten segment has holes instead of a table, so that
  /// an interrupted run leaves the records of an earlier copy in their places.
  private func refresh(
    _ target: String, from segment: UInt32, besides gone: GoneRanges, progress: (UInt64) -> Bool
  ) throws(StoreError) -> UInt64 {
    let opened = try openForCopy(segment)
    let parts = try opened.parts(without: gone)
    let begin = UInt64(SegmentFormat.headerSize)
    let header = try StoreError.translating(
      opened.runs == nil
        ? try opened.file.read(SegmentFormat.headerSize, at: 0)
        : SegmentFormat.header(number: segment, store: storeID))
    let end =
      try opened.runs == nil
      ? StoreError.translating(try opened.file.status()).size
      : opened.parts().last?.range.upperBound ?? begin
    let written = try StoreError.wrapping { () throws(SystemError) -> UInt64? in
      let copy = try File(target, [.readWrite, .create, .noFollow], permissions: 0o600)
      let (status, known) = (try opened.file.status(), try copy.status())
      if known.size == end, known.modifiedSeconds == status.modifiedSeconds,
        known.modifiedNanoseconds == status.modifiedNanoseconds
      {
        return progress(end) ? 0 : nil
      }
      var written: UInt64 = 0
      func put(_ bytes: [UInt8], at offset: UInt64) throws(SystemError) {
        guard try copy.read(bytes.count, at: offset) != bytes else { return }
        try copy.write(bytes, at: offset)
        written += UInt64(bytes.count)
      }
      try put(header, at: 0)
      var done: UInt64 = 0
      for part in parts {
        var offset = part.range.lowerBound
        while offset < part.range.upperBound {
          let most = Int(min(1 << 20, part.range.upperBound - offset))
          let bytes = try opened.file.read(most, at: part.place + (offset - part.range.lowerBound))
          if bytes.isEmpty { break }
          try put(bytes, at: offset)
          offset += UInt64(bytes.count)
          guard progress(offset - done) else { return nil }
          done = offset
        }
      }
      guard progress(end - min(done, end)) else { return nil }
      // A cancelled transaction is cut off the store's segment, and the end of one may be gone.
      if try copy.status().size != end { try copy.truncate(to: end) }
      try copy.syncData()
      // Within the resolution of the clock, a later change may have the same time.
      if status.modifiedSeconds + 2 < SystemClock.realtime().seconds {
        try FileSystem.setModified(
          Array(target.utf8), seconds: status.modifiedSeconds,
          nanoseconds: status.modifiedNanoseconds)
      }
      return written
    }
    guard let written else { throw .cancelled }
    return written
  }

  package func statistics() throws(StoreError) -> StoreStatistics {
    let versions = Int(try state().lastNumber)
    return try StoreError.wrapping { () throws(SystemError) in
      let names = try FileSystem.list("\(path)/segments")
      var bytes: UInt64 = 0
      for name in names { bytes += try FileSystem.status("\(path)/segments/\(name)").size }
      var databases: UInt64 = 0
      for name in ReadableCopy.databases where try FileSystem.exists("\(path)/\(name)") {
        databases += try FileSystem.status("\(path)/\(name)").size
      }
      return StoreStatistics(
        versions: versions, segments: names.count, segmentBytes: bytes, databaseBytes: databases,
        availableBytes: try FileSystem.fileSystem(of: path).availableBytes)
    }
  }
}
