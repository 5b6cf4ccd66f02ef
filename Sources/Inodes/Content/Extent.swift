/// A run of a file's bytes and their place.
package struct Extent: Hashable, Sendable {
  /// The `source` that is no data file.
  package static let base: UInt32 = 0

  /// The offset in the file.
  package var start: UInt64
  /// At least 1.
  package var length: UInt64
  /// The offset in the source.
  package var offset: UInt64
  /// ``base`` for the value under the file, else a data file's number.
  package var source: UInt32

  package init(start: UInt64, length: UInt64, offset: UInt64, source: UInt32) {
    self.start = start
    self.length = length
    self.offset = offset
    self.source = source
  }

  package var end: UInt64 { start + length }

  /// Returns the part inside `range`, which must overlap.
  package func clipped(to range: Range<UInt64>) -> Extent {
    let from = max(start, range.lowerBound)
    let to = min(end, range.upperBound)
    return Extent(start: from, length: to - from, offset: offset + (from - start), source: source)
  }

  /// True if `next` follows this one in the file and in the source.
  package func continues(into next: Extent) -> Bool {
    next.start == end && next.source == source && next.offset == offset + length
  }
}
