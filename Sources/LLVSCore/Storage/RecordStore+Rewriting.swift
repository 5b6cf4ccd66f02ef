internal import Platform

/// Writes segments again without the records that are gone, where these leave much of the disk's blocks unused.
///
/// INVARIANT S15: the new file has all bytes of the segment that are not gone, at the same locations. It is durable
/// before it replaces the old one with a rename, so at any instant the name is that of a whole file. Readers that
/// have the old file open go on reading it. No process appends to the segment.
extension RecordStore {
  /// With fewer unused bytes a segment stays.
  private static let leastWaste: UInt64 = 64 << 10
  /// The least part of a segment's blocks that is unused, as a divisor.
  private static let wasteShare: UInt64 = 5
  private static let copySize = 1 << 20
  /// Writing this number of bytes takes about as long as making a hole.
  private static let bytesPerHole: UInt64 = 256 << 10

  /// What a segment has apart from ranges that are gone.
  private struct Rest {
    var parts: [SegmentRuns.Run]
    var allocated: UInt64
    /// The length of a new file without the ranges, in bytes.
    var needed: UInt64
    /// The blocks that a new file without the ranges does not need, in bytes.
    var waste: UInt64

    var isWorthIt: Bool { waste >= max(leastWaste, allocated / wasteShare) }
  }

  private func rest(of opened: SegmentFile, without gone: GoneRanges) throws(StoreError) -> Rest {
    let parts = try opened.parts(without: gone)
    let allocated = try StoreError.translating(try opened.file.status()).allocated
    let needed = parts.reduce(
      UInt64(SegmentFormat.headerSize) + SegmentRuns.tableSize(parts.count)
    ) { $0 + $1.length }
    return Rest(
      parts: parts, allocated: allocated, needed: needed,
      waste: allocated - min(allocated, needed))
  }

  /// Rewrites a segment if that is faster than making its gone ranges holes, and the disk has room for many such files.
  func rewriteIfFaster(
    _ segment: UInt32, without gone: GoneRanges, _ check: (UInt64) -> Bool
  ) throws(StoreError) -> UInt64 {
    let opened = try files.file(segment)
    let rest = try rest(of: opened, without: gone)
    let room = try StoreError.translating(try opened.file.fileSystem()).availableBytes
    guard rest.needed / Self.bytesPerHole <= UInt64(gone.ranges.count), rest.needed <= room / 8
    else { return 0 }
    return try rewrite(segment, without: gone, check)
  }

  /// Returns the bytes of the disk that come free when the ranges `all` of a segment are gone and `before` are gone already.
  func freeable(
    _ all: GoneRanges, after before: GoneRanges, in segment: UInt32
  ) throws(StoreError) -> UInt64 {
    let opened = try files.file(segment)
    let rest = try rest(of: opened, without: all)
    if rest.isWorthIt { return rest.waste }
    let block = try StoreError.translating(try opened.file.fileSystem()).blockSize
    return try opened.held(of: all).bytes(ofBlocks: block)
      - opened.held(of: before).bytes(ofBlocks: block)
  }

  /// Rewrites a segment if that is worth it, and returns the space that came free. On a full disk, and while a long
  /// transaction appends to the segment, it stays. `check` is called often, with the bytes written; false ends the run.
  /// - Throws: ``StoreError/cancelled`` if `check` returned false.
  func rewrite(
    _ segment: UInt32, without gone: GoneRanges, _ check: (UInt64) -> Bool
  ) throws(StoreError) -> UInt64 {
    guard try rest(of: try files.file(segment), without: gone).isWorthIt, close(segment) else {
      return 0
    }
    let opened = try files.file(segment)
    let rest = try rest(of: opened, without: gone)
    let part = files.path(segment) + SegmentFiles.partSuffix
    do throws(StoreError) {
      let (copy, runs) = try write(rest.parts, of: opened, segment, to: part, check)
      let new = SegmentFile(file: copy, runs: try SegmentRuns(of: copy, count: runs))
      let allocated = try StoreError.wrapping { () throws(SystemError) in
        try FileSystem.rename(part, to: files.path(segment))
        try FileSystem.syncDirectory(files.directory)
        return try copy.status().allocated
      }
      files.insert(new, for: segment)
      return rest.allocated - min(rest.allocated, allocated)
    } catch {
      try? FileSystem.unlink(part)
      // The old file may have been replaced before the failure; the next look-up opens the new one.
      files.remove(segment)
      guard case .system(let cause) = error, cause.isFull else { throw error }
      return 0
    }
  }

  /// Writes a new file durably, and returns it with the number of its runs.
  private func write(
    _ parts: [SegmentRuns.Run], of opened: SegmentFile, _ segment: UInt32, to path: String,
    _ check: (UInt64) -> Bool
  ) throws(StoreError) -> (File, Int) {
    let (table, runs) = SegmentRuns.table(of: parts.map(\.range))
    var buffer =
      SegmentFormat.header(
        number: segment, store: files.store, version: SegmentFormat.rewritten,
        runs: UInt32(runs.count)) + table
    let copy = try StoreError.wrapping { () throws(SystemError) in
      if try FileSystem.exists(path) { try FileSystem.unlink(path) }
      return try File.kept(path, [.readWrite, .create, .exclusive])
    }
    var written: UInt64 = 0
    func flush() throws(StoreError) {
      guard check(written) else { throw .cancelled }
      try StoreError.translating(try copy.write(buffer, at: written))
      let end = written + UInt64(buffer.count)
      copy.startWriteback(written..<end)
      written = end
      buffer.removeAll(keepingCapacity: true)
    }
    for part in parts {
      var offset = part.place
      while offset < part.end {
        let count = Int(min(UInt64(Self.copySize), part.end - offset))
        let bytes = try StoreError.translating(try opened.file.read(count, at: offset))
        guard bytes.count == count else {
          throw .corrupt("\(opened.file.path) is shorter than it was")
        }
        buffer += bytes
        offset += UInt64(count)
        if buffer.count >= Self.copySize { try flush() }
      }
    }
    try flush()
    try StoreError.translating(try copy.sync())
    return (copy, runs.count)
  }

  /// Ends appending to a segment, so that the next commit begins another; false if a transaction appends to it.
  private func close(_ segment: UInt32) -> Bool {
    for _ in 0..<100 {
      if closeIfIdle(segment) { return true }
      SystemClock.sleep(nanoseconds: 10_000_000)
    }
    return false
  }
}
