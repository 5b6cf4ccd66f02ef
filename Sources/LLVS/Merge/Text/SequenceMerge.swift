/// Which changes of two sides of a merge belong together: those of the same places, and of places beside
/// each other, where nobody can say what comes first.
enum SequenceMerge {
  /// A run of the base that is no more what it was on one side or both.
  struct Group: Hashable {
    let base: Range<Int>
    /// What the side has in its place; nil where the side left it as it was.
    var first: Range<Int>?
    var second: Range<Int>?
  }

  /// The groups in ascending order; between them both sides have what the base has.
  static func groups(
    _ toFirst: [SequenceChange], _ toSecond: [SequenceChange]
  ) -> [Group] {
    var groups: [Group] = []
    var (i, j) = (0, 0)
    while i < toFirst.count || j < toSecond.count {
      let next = min(
        i < toFirst.count ? toFirst[i].old.lowerBound : .max,
        j < toSecond.count ? toSecond[j].old.lowerBound : .max)
      let (firstStart, secondStart) = (i, j)
      var end = next
      while true {
        if i < toFirst.count, toFirst[i].old.lowerBound <= end {
          end = max(end, toFirst[i].old.upperBound)
          i += 1
        } else if j < toSecond.count, toSecond[j].old.lowerBound <= end {
          end = max(end, toSecond[j].old.upperBound)
          j += 1
        } else {
          break
        }
      }
      groups.append(
        Group(
          base: next..<end, first: span(toFirst[firstStart..<i], next..<end),
          second: span(toSecond[secondStart..<j], next..<end)))
    }
    return groups
  }

  /// What a side has in place of a run of the base; nil without changes.
  private static func span(
    _ changes: ArraySlice<SequenceChange>, _ base: Range<Int>
  ) -> Range<Int>? {
    guard let first = changes.first, let last = changes.last else { return nil }
    let start = first.new.lowerBound - (first.old.lowerBound - base.lowerBound)
    return start..<(last.new.upperBound + (base.upperBound - last.old.upperBound))
  }
}
