package import Inodes
import LLVSCore
package import TreeNames

/// The result of seeking data or a hole.
package struct SoughtPlace: Hashable, Sendable {
  /// The offset; nil where no data follows.
  package var offset: UInt64?
  /// The hole of the result if the file is open for writing: a program may have stored bytes there through a
  /// mapping, which the kernel reports only when it writes its pages.
  package var doubted: Range<UInt64>?
}

extension FileContent {
  /// Bytes that take room, if `zeros` bytes of the stored value take none.
  func stored(zerosInBase zeros: UInt64) -> UInt64 {
    let ofBase = extents.coveredByBase
    return extents.covered - ofBase + (ofBase > zeros ? ofBase - zeros : 0)
  }
}

extension WorkingTree {
  /// Finds the first stored byte, or the first in a hole, from an offset: lseek(2) with SEEK_DATA and SEEK_HOLE.
  /// The end of a file is a hole. Throws ``FSError/noDevice`` for an offset at or behind the end,
  /// ``FSError/isDirectory``, ``FSError/stale``, or the error of the recorded tree or the store.
  package func seek(
    _ number: InodeNumber, from offset: UInt64, toData: Bool
  ) throws(FSError) -> SoughtPlace {
    let (content, isWritten) = try answer { state, base throws(FSError) in
      (try shownContent(of: number, state, base).content, state.handles.isWritten(number))
    }
    guard offset < content.size else { throw .noDevice }
    var place = SoughtPlace()
    place.offset = try seek(content, from: offset, toData: toData)
    guard isWritten else { return place }
    let begin = toData ? offset : place.offset ?? content.size
    if begin < content.size {
      let run = try run(content, at: begin)
      if run.isHole { place.doubted = begin..<(toData ? place.offset ?? content.size : run.end) }
    }
    return place
  }

  /// Seeks from an offset inside; nil if no data follows.
  private func seek(
    _ content: FileContent, from offset: UInt64, toData: Bool
  ) throws(FSError) -> UInt64? {
    var at = offset
    while at < content.size {
      let run = try run(content, at: at)
      if run.isHole != toData { return at }
      at = run.end
    }
    return toData ? nil : content.size
  }

  /// Returns the parts of a range without bytes, behind the end too.
  func holes(of number: InodeNumber, in range: Range<UInt64>) throws(FSError) -> [Range<UInt64>] {
    let content = try answer { state, base throws(FSError) in
      try shownContent(of: number, state, base).content
    }
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
    var run = try contents.run(base, at: extent.offset)
    run.end = min(end, extent.start + (run.end - extent.offset))
    return run
  }
}
