import Platform

// The places of a pending file's bytes, in blocks of at most `blockLimit`: a copy (a save) shares all blocks, and a
// change copies one. Bytes without an extent read as zeros.

/// The extents of a file in ascending order, none overlapping.
package struct ExtentList: Hashable, Sendable {
  private static let blockLimit = 256
  private var blocks: [[Extent]] = []
  /// The number of covered bytes, and of those in the value under the file.
  package private(set) var covered: UInt64 = 0
  package private(set) var coveredByBase: UInt64 = 0

  package init() {}

  /// One extent that shows a base value.
  package init(baseLength length: UInt64) {
    if length > 0 {
      blocks = [[Extent(start: 0, length: length, offset: 0, source: Extent.base)]]
      covered = length
      coveredByBase = length
    }
  }

  package var isEmpty: Bool { blocks.isEmpty }
  package var count: Int { blocks.reduce(0) { $0 + $1.count } }

  package func forEach(_ body: (Extent) -> Void) {
    for block in blocks { for extent in block { body(extent) } }
  }

  /// Returns the parts of extents in `range`.
  /// - Complexity: O(log *n* + *k*) for *k* extents returned.
  package func extents(in range: Range<UInt64>) -> [Extent] {
    var found: [Extent] = []
    guard !range.isEmpty, var block = blockIndex(of: range.lowerBound) else { return found }
    var index = Self.firstIndex(in: blocks[block], endingAfter: range.lowerBound)
    while block < blocks.count {
      while index < blocks[block].count {
        let extent = blocks[block][index]
        if extent.start >= range.upperBound { return found }
        found.append(extent.clipped(to: range))
        index += 1
      }
      block += 1
      index = 0
    }
    return found
  }

  /// Returns the extent at or after an offset, from there on; nil for a hole to the end.
  /// - Complexity: O(log *n*).
  package func extent(from offset: UInt64) -> Extent? {
    guard let block = blockIndex(of: offset) else { return nil }
    let index = Self.firstIndex(in: blocks[block], endingAfter: offset)
    let extent: Extent
    if index < blocks[block].count {
      extent = blocks[block][index]
    } else if block + 1 < blocks.count, let next = blocks[block + 1].first {
      extent = next
    } else {
      return nil
    }
    return extent.clipped(to: max(offset, extent.start)..<extent.end)
  }

  /// Replaces the range of `extent`.
  /// - Complexity: O(log *n* + block), and the number of replaced extents.
  package mutating func put(_ extent: Extent) {
    guard extent.length > 0 else { return }
    if let last = blocks.indices.last, let tail = blocks[last].last, tail.end <= extent.start {
      append(extent, toBlock: last, after: tail)
    } else {
      clear(extent.start..<extent.end)
      insert(extent)
    }
    covered += extent.length
    if extent.source == Extent.base { coveredByBase += extent.length }
  }

  private mutating func uncover(_ extent: Extent, in range: Range<UInt64>) {
    let length = min(extent.end, range.upperBound) - max(extent.start, range.lowerBound)
    covered -= length
    if extent.source == Extent.base { coveredByBase -= length }
  }

  /// Makes `range` read as zeros.
  package mutating func clear(_ range: Range<UInt64>) {
    guard !range.isEmpty, var block = blockIndex(of: range.lowerBound) else { return }
    while block < blocks.count {
      guard let first = blocks[block].first, first.start < range.upperBound else { return }
      let low = Self.firstIndex(in: blocks[block], endingAfter: range.lowerBound)
      var high = low
      var kept: [Extent] = []
      while high < blocks[block].count, blocks[block][high].start < range.upperBound {
        let extent = blocks[block][high]
        uncover(extent, in: range)
        if extent.start < range.lowerBound {
          kept.append(extent.clipped(to: extent.start..<range.lowerBound))
        }
        if extent.end > range.upperBound {
          kept.append(extent.clipped(to: range.upperBound..<extent.end))
        }
        high += 1
      }
      if low < high || !kept.isEmpty { blocks[block].replaceSubrange(low..<high, with: kept) }
      if blocks[block].isEmpty {
        blocks.remove(at: block)
      } else {
        block += 1
      }
    }
  }

  package mutating func truncate(to size: UInt64) { clear(size..<UInt64.max) }

  private mutating func append(_ extent: Extent, toBlock last: Int, after tail: Extent) {
    if tail.continues(into: extent) {
      blocks[last][blocks[last].count - 1].length += extent.length
    } else if blocks[last].count < Self.blockLimit {
      blocks[last].append(extent)
    } else {
      blocks.append([extent])
    }
  }

  private mutating func insert(_ extent: Extent) {
    guard let block = blockIndex(of: extent.start) ?? blocks.indices.last else {
      blocks = [[extent]]
      return
    }
    let index = Self.firstIndex(in: blocks[block], endingAfter: extent.start)
    if index > 0, blocks[block][index - 1].continues(into: extent) {
      blocks[block][index - 1].length += extent.length
      return
    }
    blocks[block].insert(extent, at: index)
    if blocks[block].count > Self.blockLimit {
      let half = blocks[block].count / 2
      let tail = Array(blocks[block][half...])
      blocks[block].removeSubrange(half...)
      blocks.insert(tail, at: block + 1)
    }
  }

  /// Returns the first block that ends after `offset`.
  private func blockIndex(of offset: UInt64) -> Int? {
    let index = blocks.partitioningIndex { block in
      block.last.map { $0.end > offset } ?? true
    }
    return index < blocks.count ? index : nil
  }

  private static func firstIndex(in block: [Extent], endingAfter offset: UInt64) -> Int {
    block.partitioningIndex { $0.end > offset }
  }
}
