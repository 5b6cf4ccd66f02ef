import LLVSCore
import Platform

/// A run of bytes of a data file that were written at once, and their checksum.
package struct BytesSum: Hashable, Sendable {
  /// The longest run that is written; short, so that reading a little of it checks little.
  static let blockSize = 64 << 10
  /// The longest run that a record may name.
  static let limit: UInt32 = 16 << 20
  package var offset: UInt64
  /// Bytes, at least 1.
  package var length: UInt32
  /// XXH3-64 of the bytes.
  package var sum: UInt64
  var end: UInt64 { offset + UInt64(length) }
  var range: Range<UInt64> { offset..<end }

  /// Returns the checksums of the blocks of bytes that will be at an offset.
  static func of(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) -> [BytesSum] {
    stride(from: 0, to: bytes.count, by: blockSize).map { start in
      let block = bytes[start..<min(start + blockSize, bytes.count)]
      return BytesSum(
        offset: offset + UInt64(start), length: UInt32(block.count),
        sum: Checksum.of(UnsafeRawBufferPointer(rebasing: block)))
    }
  }
}

extension BytesSum: JournalCoded {
  func encode(into bytes: inout ByteWriter) {
    bytes.append(coded: offset, length, sum)
  }
  init?(from reader: inout ByteReader) {
    guard let offset = UInt64(from: &reader), let length = UInt32(from: &reader),
      let sum = UInt64(from: &reader), length > 0, length <= Self.limit, offset <= UInt64(Int64.max)
    else { return nil }
    self.init(offset: offset, length: length, sum: sum)
  }
}

/// The checksums of the bytes of one data file: ascending, not overlapping; O(log *n*) to look up, 24 bytes a run.
struct ByteSums: Sendable {
  private(set) var all: ContiguousArray<BytesSum> = []

  /// Adds a run, in O(1) at the end. A run that overlaps others is ignored: a journal writes none.
  mutating func add(_ sum: BytesSum) {
    guard let last = all.last, last.end > sum.offset else {
      all.append(sum)
      return
    }
    // Two threads note in either order.
    let index = firstIndex(endingAfter: sum.offset)
    guard index == all.count || all[index].offset >= sum.end else {
      if all[index].range == sum.range { all[index] = sum }
      return
    }
    all.insert(sum, at: index)
  }

  /// Returns the runs with bytes in ascending ranges, and the parts of the ranges that are in no run.
  func overlapping(anyOf ranges: [Range<UInt64>]) -> (sums: [BytesSum], missing: [Range<UInt64>]) {
    var (sums, missing) = ([BytesSum](), [Range<UInt64>]())
    for range in ranges {
      var reach = range.lowerBound
      var index = firstIndex(endingAfter: reach)
      while index < all.count, all[index].offset < range.upperBound {
        let sum = all[index]
        if sum.offset > reach { missing.append(reach..<sum.offset) }
        if sums.last != sum { sums.append(sum) }
        reach = sum.end
        index += 1
      }
      if reach < range.upperBound { missing.append(reach..<range.upperBound) }
    }
    return (sums, missing)
  }

  private func firstIndex(endingAfter offset: UInt64) -> Int {
    all.partitioningIndex { $0.end > offset }
  }
}
