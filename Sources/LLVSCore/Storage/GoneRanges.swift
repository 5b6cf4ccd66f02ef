internal import Platform

/// Ranges of bytes of one segment, ascending, with gaps between them: the records that only forgotten versions had.
struct GoneRanges: Hashable, Sendable {
  private(set) var ranges: [Range<UInt64>] = []

  init() {}

  var length: UInt64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

  /// Returns the bytes of the blocks of a length that are whole in the ranges.
  func bytes(ofBlocks length: UInt64) -> UInt64 {
    ranges.reduce(0) { $0 + UInt64($1.wholeBlocks(of: length).count) }
  }

  /// Returns the first range that ends after an offset.
  func next(from offset: UInt64) -> Range<UInt64>? {
    let index = ranges.partitioningIndex { $0.upperBound > offset }
    return index < ranges.count ? ranges[index] : nil
  }

  func contains(_ offset: UInt64) -> Bool { next(from: offset)?.contains(offset) ?? false }

  mutating func formUnion(_ more: some Sequence<Range<UInt64>>) {
    var joined: [Range<UInt64>] = []
    for range in (ranges + more).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, range.lowerBound <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    ranges = joined
  }

  // MARK: As bytes: for each range, varint bytes since the end of the range before, varint length

  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    var end: UInt64 = 0
    for range in ranges {
      bytes.append(varint: range.lowerBound - end)
      bytes.append(varint: range.upperBound - range.lowerBound)
      end = range.upperBound
    }
    return bytes
  }

  init?(_ bytes: [UInt8]) {
    var end: UInt64 = 0
    let isRead = bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      while reader.remaining > 0 {
        guard let gap = reader.varint(), let length = reader.varint(), length > 0,
          gap > 0 || ranges.isEmpty, gap <= 1 << 40, length <= 1 << 40,
          end + gap + length <= 1 << 40
        else { return false }
        ranges.append((end + gap)..<(end + gap + length))
        end += gap + length
      }
      return true
    }
    guard isRead else { return nil }
  }
}

extension Range<UInt64> {
  /// Returns the part that consists of whole blocks of a length.
  func wholeBlocks(of length: UInt64) -> Range<UInt64> {
    let length = Swift.max(1, length)
    let start = (lowerBound + length - 1) / length * length
    return start..<Swift.max(start, upperBound / length * length)
  }
}
