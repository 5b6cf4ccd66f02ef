internal import Platform

/// The differences of two texts, line by line.
///
/// The script is the shortest within the bound of ``SequenceDiff``. Beyond it, texts are cut at lines that occur
/// once in each, and the gaps are compared in the same way; beyond the budget a gap is one change.
package enum TextDiff {
  /// Steps in all; a step is a comparison of two lines.
  package static let maximumSteps = 60_000_000
  /// The greatest depth of gaps within gaps.
  private static let maximumDepth = 64

  /// Returns the changes in ascending order, none touching the next. Both texts come from one ``LineTable``. A run
  /// that could be in several places begins where blocks of indented text begin.
  /// - Complexity: O(lines + ``maximumSteps``) at most, O(lines) memory next to at most 16 MiB.
  package static func changes(from old: TextLines, to new: TextLines) -> [SequenceChange] {
    var slider = ChangeSlider(old: old, new: new)
    return slider.slide(changes(from: old.ids, to: new.ids, steps: maximumSteps))
  }

  /// Returns the number of lines in which two texts differ.
  package static func count(from old: [UInt8], to new: [UInt8]) -> Int {
    var table = LineTable()
    let (before, after) = (table.lines(old), table.lines(new))
    return changes(from: before, to: after).reduce(0) { $0 + max($1.old.count, $1.new.count) }
  }

  /// The same for any sequences, without moving runs: a function of the two alone.
  static func changes(from old: [Int32], to new: [Int32], steps: Int) -> [SequenceChange] {
    var budget = steps
    var changes: [SequenceChange] = []
    // Gaps still to compare, the first on top.
    var open = [Gap(old: old[...], new: new[...], depth: 0)]
    while let gap = open.popLast() {
      let (a, b) = SequenceDiff.trimmed(gap.old, gap.new)
      if a.isEmpty, b.isEmpty { continue }
      if budget > 0, let found = SequenceDiff.changes(from: a, to: b, budget: &budget) {
        changes += found
        continue
      }
      let parts = gap.depth < maximumDepth && budget > 0 ? split(a, b, gap.depth, &budget) : []
      if parts.isEmpty {
        changes.append(
          SequenceChange(old: a.startIndex..<a.endIndex, new: b.startIndex..<b.endIndex))
      } else {
        open += parts.reversed()
      }
    }
    return SequenceDiff.joined(changes)
  }

  private struct Gap {
    var old: ArraySlice<Int32>
    var new: ArraySlice<Int32>
    var depth: Int
  }

  /// The runs between lines that both texts hold exactly once and in the same order, if any.
  private static func split(
    _ old: ArraySlice<Int32>, _ new: ArraySlice<Int32>, _ depth: Int, _ budget: inout Int
  ) -> [Gap] {
    budget -= old.count + new.count
    let anchors = anchors(old, new)
    guard !anchors.isEmpty else { return [] }
    var gaps: [Gap] = []
    var (x, y) = (old.startIndex, new.startIndex)
    for (oldLine, newLine) in anchors {
      if x < oldLine || y < newLine {
        gaps.append(Gap(old: old[x..<oldLine], new: new[y..<newLine], depth: depth + 1))
      }
      (x, y) = (oldLine + 1, newLine + 1)
    }
    gaps.append(Gap(old: old[x...], new: new[y...], depth: depth + 1))
    return gaps
  }

  private static func anchors(_ old: ArraySlice<Int32>, _ new: ArraySlice<Int32>) -> [(Int, Int)] {
    // -1: more than once.
    func places(_ lines: ArraySlice<Int32>) -> [Int32: Int] {
      var places: [Int32: Int] = [:]
      for (index, line) in zip(lines.indices, lines) {
        places[line] = places[line] == nil ? index : -1
      }
      return places
    }
    let there = places(new)
    let here = places(old)
    var pairs: [(Int, Int)] = []
    for (index, line) in zip(old.indices, old) where here[line] == index {
      if let place = there[line], place >= 0 { pairs.append((index, place)) }
    }
    return longestRise(pairs)
  }

  /// The longest run of pairs that ascends in the second part; the first part ascends already.
  private static func longestRise(_ pairs: [(Int, Int)]) -> [(Int, Int)] {
    // The pair that ends the best run of each length so far.
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: pairs.count)
    for (index, pair) in pairs.enumerated() {
      let place = ends.partitioningIndex { pairs[$0].1 >= pair.1 }
      before[index] = place > 0 ? ends[place - 1] : -1
      if place == ends.count { ends.append(index) } else { ends[place] = index }
    }
    var run: [(Int, Int)] = []
    var next = ends.last ?? -1
    while next >= 0 {
      run.append(pairs[next])
      next = before[next]
    }
    return run.reversed()
  }
}
