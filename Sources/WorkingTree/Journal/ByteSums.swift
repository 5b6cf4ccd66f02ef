import LLVSCore
import Platform

/// A run of bytes of a data file that were written at once, and their checksum.
package struct BytesSum: Hashable, Sendable {
  /// No run that is written is longer, so that who reads a little of it has little to check.
  static let blockSize = 64 << 10
  /// No run that a record names is longer.
  static let limit: UInt32 = 16 << 20

  /// The first byte's offset in the data file.
  package var offset: UInt64
  /// Bytes, at least 1.
  package var length: UInt32
  /// XXH3-64 of the bytes.
  package var sum: UInt64

  /// The first offset behind it.
  var end: UInt64 { offset + UInt64(length) }
  var range: Range<UInt64> { offset..<end }

  /// Sums some bytes that are to be at an offset, in blocks.
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
  func encode(into bytes: inout [UInt8]) {
    offset.encode(into: &bytes)
    length.encode(into: &bytes)
    sum.encode(into: &bytes)
  }
  init?(from reader: inout ByteReader) {
    guard let offset = UInt64(from: &reader), let length = UInt32(from: &reader),
      let sum = UInt64(from: &reader), length > 0, length <= Self.limit, offset <= UInt64(Int64.max)
    else { return nil }
    self.init(offset: offset, length: length, sum: sum)
  }
}

/// The checksums of what is in one data file, in ascending order, none overlapping.
///
/// - Complexity: 24 bytes a run; O(1) to add at the end, O(log *n*) to look up.
struct ByteSums: Sendable {
  private(set) var all: ContiguousArray<BytesSum> = []

  /// Adds a run. One that overlaps others is none that a journal writes, and is left out.
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

  /// The runs that have bytes in any of some ranges, and the parts of the ranges that are in no run. The ranges
  /// ascend.
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
