/// A difference of two sequences: a run of the old one and the run in its place.
package struct SequenceChange: Hashable, Sendable {
  package var old: Range<Int>
  package var new: Range<Int>
}

/// The shortest edit script between two sequences (Myers), within a bound on the work.
///
/// The bound counts steps, never time, because every replica must get the same merge.
enum SequenceDiff {
  /// Insertions and removals in all; more counts as too different.
  static let maximumDistance = 2000
  /// Comparisons in all.
  static let maximumSteps = 20_000_000

  /// The changes in ascending order, none touching the next; nil if they cost more than the budget.
  static func changes(
    from old: ArraySlice<Int32>, to new: ArraySlice<Int32>, budget: inout Int
  ) -> [SequenceChange]? {
    let (a, b) = trimmed(old, new)
    if a.isEmpty || b.isEmpty {
      return a.isEmpty && b.isEmpty
        ? [] : [SequenceChange(old: a.startIndex..<a.endIndex, new: b.startIndex..<b.endIndex)]
    }
    guard let steps = trace(a, b, &budget) else { return nil }
    return collect(steps, a, b)
  }

  /// Both sequences without their common beginning and end.
  static func trimmed(
    _ old: ArraySlice<Int32>, _ new: ArraySlice<Int32>
  ) -> (ArraySlice<Int32>, ArraySlice<Int32>) {
    var start = 0
    let most = min(old.count, new.count)
    while start < most, old[old.startIndex + start] == new[new.startIndex + start] { start += 1 }
    var (a, b) = (old.dropFirst(start), new.dropFirst(start))
    while let last = a.last, last == b.last {
      a.removeLast()
      b.removeLast()
    }
    return (a, b)
  }

  /// The furthest point of each diagonal at each distance: at distance d the diagonals from -d to d.
  private static func trace(
    _ old: ArraySlice<Int32>, _ new: ArraySlice<Int32>, _ budget: inout Int
  ) -> [[Int32]]? {
    let (n, m) = (old.count, new.count)
    let (oldStart, newStart) = (old.startIndex, new.startIndex)
    let bound = min(budget, maximumSteps)
    var steps = 0
    defer { budget -= steps }
    var trace: [[Int32]] = []
    var reached: [Int32] = [0]
    for distance in 0...min(n + m, maximumDistance) {
      var next = [Int32](repeating: -1, count: 2 * distance + 1)
      for diagonal in stride(from: -distance, through: distance, by: 2) {
        var x = distance == 0 ? 0 : from(reached, distance, diagonal).x
        var y = x - diagonal
        while x < n, y < m, x >= 0, y >= 0, old[oldStart + x] == new[newStart + y] {
          x += 1
          y += 1
          steps += 1
        }
        next[diagonal + distance] = Int32(x)
        if x >= n, y >= m {
          trace.append(next)
          return trace
        }
        steps += 1
      }
      guard steps <= bound else { return nil }
      trace.append(next)
      reached = next
    }
    return nil
  }

  /// The start of a diagonal at a distance, and true if it comes from a removal.
  private static func from(
    _ reached: [Int32], _ distance: Int, _ diagonal: Int
  ) -> (x: Int, isRemoval: Bool) {
    func before(_ other: Int) -> Int {
      let index = other + distance - 1
      return index >= 0 && index < reached.count ? Int(reached[index]) : -1
    }
    let (insertion, removal) = (before(diagonal + 1), before(diagonal - 1))
    if diagonal == -distance || (diagonal != distance && removal < insertion) {
      return (insertion, false)
    }
    return (removal + 1, true)
  }

  private static func collect(
    _ trace: [[Int32]], _ old: ArraySlice<Int32>, _ new: ArraySlice<Int32>
  ) -> [SequenceChange] {
    let (oldStart, newStart) = (old.startIndex, new.startIndex)
    var (x, y) = (old.count, new.count)
    var changes: [SequenceChange] = []
    for distance in stride(from: trace.count - 1, to: 0, by: -1) {
      let (start, isRemoval) = from(trace[distance - 1], distance, x - y)
      // Equal elements after the step come first, then the step itself.
      let startY = start - (x - y)
      (x, y) = isRemoval ? (start - 1, startY) : (start, startY - 1)
      changes.append(
        SequenceChange(
          old: oldStart + x..<(oldStart + start), new: newStart + y..<(newStart + startY)))
    }
    return joined(changes.reversed())
  }

  /// Returns ascending changes, with those that touch made one.
  static func joined(_ changes: [SequenceChange]) -> [SequenceChange] {
    var joined: [SequenceChange] = []
    for change in changes {
      if let last = joined.last, last.old.upperBound == change.old.lowerBound,
        last.new.upperBound == change.new.lowerBound
      {
        joined[joined.count - 1] = SequenceChange(
          old: last.old.lowerBound..<change.old.upperBound,
          new: last.new.lowerBound..<change.new.upperBound)
      } else {
        joined.append(change)
      }
    }
    return joined
  }
}
