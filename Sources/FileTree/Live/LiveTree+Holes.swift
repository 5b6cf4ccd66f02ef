import LLVS
import Platform

// Holes: what of a file takes no room, and where it is.

extension FileContent {
  /// Bytes that take room, where the value under the file has so many zeros that take none.
  func stored(zerosInBase zeros: UInt64) -> UInt64 {
    let ofBase = extents.coveredByBase
    return extents.covered - ofBase + (ofBase > zeros ? ofBase - zeros : 0)
  }
}

extension LiveTree {
  /// Finds the first byte at or behind an offset that is stored, or the first that is in a hole:
  /// lseek(2) with SEEK_DATA and SEEK_HOLE. The end of a file counts as a hole.
  ///
  /// - Throws: ``FSError/noDevice`` for an offset at or behind the end, and where no data follows.
  package func seek(
    _ inode: UInt64, from offset: UInt64, toData: Bool
  ) throws(FSError) -> UInt64 {
    let content = try lock.withLock { _ throws(FSError) in try node(inode).content }
    return try seek(content, from: offset, toData: toData)
  }

  func seek(
    _ content: FileContent, from offset: UInt64, toData: Bool
  ) throws(FSError) -> UInt64 {
    guard offset < content.size else { throw .noDevice }
    var at = offset
    while at < content.size {
      let run = try run(content, at: at)
      if run.isHole != toData { return at }
      at = run.end
    }
    if toData { throw .noDevice }
    return content.size
  }

  private func run(_ content: FileContent, at offset: UInt64) throws(FSError) -> ContentRun {
    guard let extent = content.extents.extent(from: offset), extent.start < content.size else {
      return ContentRun(isHole: true, end: content.size)
    }
    if extent.start > offset { return ContentRun(isHole: true, end: extent.start) }
    let end = min(extent.end, content.size)
    guard extent.source == Extent.base, let base = content.base else {
      return ContentRun(isHole: false, end: end)
    }
    var run = try reading { () throws(StoreError) in
      try store.contents.run(base, at: extent.offset)
    }
    run.end = min(end, extent.start + (run.end - extent.offset))
    return run
  }
}
