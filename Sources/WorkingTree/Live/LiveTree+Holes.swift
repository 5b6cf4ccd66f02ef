package import Inodes
import LLVSCore
import Platform
package import TreeNames

// Holes: what of a file takes no room, and where it is.

extension FileContent {
  /// Bytes that take room, where the value under the file has so many zeros that take none.
  func stored(zerosInBase zeros: UInt64) -> UInt64 {
    let ofBase = extents.coveredByBase
    return extents.covered - ofBase + (ofBase > zeros ? ofBase - zeros : 0)
  }
}

/// What was found by looking for data or a hole.
package struct SoughtPlace {
  /// Nothing where no data follows.
  package var offset: UInt64?
  /// The hole that this rests on, where somebody has the file open for writing.
  ///
  /// He may have stored bytes there through a mapping: the kernel tells of those only when it writes its pages,
  /// and that it does not do before it asks for a hole.
  package var doubted: Range<UInt64>?
}

extension LiveTree {
  /// Finds the first byte at or behind an offset that is stored, or the first that is in a hole:
  /// lseek(2) with SEEK_DATA and SEEK_HOLE. The end of a file counts as a hole.
  ///
  /// - Throws: ``FSError/noDevice`` for an offset at or behind the end.
  package func seek(
    _ inode: UInt64, from offset: UInt64, toData: Bool
  ) throws(FSError) -> SoughtPlace {
    let (content, isWritten) = try lock.withLock { _ throws(FSError) in
      let node = try node(inode)
      return (node.content, node.writers > 0)
    }
    var place = SoughtPlace()
    do throws(FSError) {
      place.offset = try seek(content, from: offset, toData: toData)
    } catch .noDevice where offset < content.size {}
    guard isWritten else { return place }
    let begin = toData ? offset : place.offset ?? content.size
    if begin < content.size {
      let run = try run(content, at: begin)
      if run.isHole { place.doubted = begin..<(toData ? place.offset ?? content.size : run.end) }
    }
    return place
  }

  package func seek(
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

  /// The parts of a range that hold no bytes, behind the end too.
  func holes(of node: LiveNode, in range: Range<UInt64>) throws(FSError) -> [Range<UInt64>] {
    let content = lock.withLock { _ in node.content }
    var holes: [Range<UInt64>] = []
    var at = range.lowerBound
    while at < range.upperBound {
      let run =
        at < content.size
        ? try run(content, at: at) : ContentRun(isHole: true, end: range.upperBound)
      let end = min(run.end, range.upperBound)
      if run.isHole { holes.append(at..<end) }
      at = end
    }
    return holes
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
    var run = try FSError.wrapping { () throws(StoreError) in
      try store.contents.run(base, at: extent.offset)
    }
    run.end = min(end, extent.start + (run.end - extent.offset))
    return run
  }
}
