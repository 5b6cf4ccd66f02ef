import Inodes
import Platform

/// The bytes of data files to which anything refers.
package struct LiveBytes: Sendable {
  private var ranges: [UInt32: [Range<UInt64>]] = [:]
  private var isMerged = true
  package init() {}

  /// All to which an overlay refers, in O(*p* + *e*) for *p* nodes with *e* extents.
  package init(of overlay: Overlay) {
    overlay.nodes.forEachFile { file in file.forEachExtent { add($0) } }
    merge()
  }

  mutating func add(_ extent: Extent) {
    ranges[extent.source, default: []].append(extent.offset..<(extent.offset + extent.length))
    isMerged = false
  }

  package mutating func add(_ other: LiveBytes) {
    for (source, more) in other.ranges { ranges[source, default: []] += more }
    isMerged = false
    merge()
  }

  private mutating func merge() {
    guard !isMerged else { return }
    isMerged = true
    ranges = ranges.mapValues { all in
      var merged: [Range<UInt64>] = []
      for range in all.sorted(by: { $0.lowerBound < $1.lowerBound }) {
        if let last = merged.last, last.upperBound >= range.lowerBound {
          merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
        } else {
          merged.append(range)
        }
      }
      return merged
    }
  }

  var sources: Set<UInt32> { Set(ranges.keys) }

  /// The ranges of each data file, which ascend and do not touch.
  var merged: [UInt32: [Range<UInt64>]] {
    var copy = self
    copy.merge()
    return copy.ranges
  }
}

/// Bytes that were copied to other places.
package struct ExtentMoves: Sendable {
  struct Move {
    var from: Range<UInt64>
    var source: UInt32
    var offset: UInt64
  }

  /// The moves of each data file, which ascend.
  private var moves: [UInt32: [Move]] = [:]
  init() {}
  package var isEmpty: Bool { moves.isEmpty }

  /// Adds a move, in ascending order for one data file.
  mutating func add(_ from: Range<UInt64>, of old: UInt32, to offset: UInt64, of source: UInt32) {
    moves[old, default: []].append(Move(from: from, source: source, offset: offset))
  }

  var targets: [Extent] {
    moves.values.joined().map {
      Extent(start: 0, length: UInt64($0.from.count), offset: $0.offset, source: $0.source)
    }
  }

  fileprivate func apply(to content: inout FileContent) {
    var isAffected = false
    content.extents.forEach { isAffected = isAffected || moves[$0.source] != nil }
    guard isAffected else { return }
    var extents = ExtentList()
    content.extents.forEach { extent in
      guard let moves = moves[extent.source] else { return extents.put(extent) }
      let end = extent.offset + extent.length
      var at = extent.offset
      func put(to limit: UInt64, _ source: UInt32, _ offset: UInt64) {
        guard limit > at else { return }
        extents.put(
          Extent(
            start: extent.start + (at - extent.offset), length: limit - at, offset: offset,
            source: source))
        at = limit
      }
      for move in moves[moves.partitioningIndex { $0.from.upperBound > at }...] {
        guard move.from.lowerBound < end else { break }
        put(to: max(at, move.from.lowerBound), extent.source, at)
        put(
          to: min(end, move.from.upperBound), move.source, move.offset + (at - move.from.lowerBound)
        )
      }
      put(to: end, extent.source, at)
    }
    content.extents = extents
  }
}

extension Overlay {
  /// Applies moves of bytes, which programs do not see, in O(*p* + *e*) for *p* nodes with *e* extents.
  package mutating func apply(_ moves: ExtentMoves) {
    guard !moves.isEmpty else { return }
    for (number, node) in nodes {
      guard var file = node.file else { continue }
      file.apply(moves)
      if file != node.file { nodes[number]?.file = file }
    }
  }
}

extension PendingFile {
  mutating func apply(_ moves: ExtentMoves) {
    moves.apply(to: &content)
    if var save = saved {
      moves.apply(to: &save.content)
      saved = save
    }
    if var save = counted {
      moves.apply(to: &save.content)
      counted = save
    }
    if var content = taken {
      moves.apply(to: &content)
      taken = content
    }
  }
}
