/// Moves runs of added or removed lines to where a reader expects them.
///
/// A run whose first line equals the line after it may be moved down one line without a change of meaning. The best
/// of all such places has ends between blocks: where indentation is least, after a blank line rather than before
/// it, and not before the line that closes a block.
struct ChangeSlider {
  /// The most places that are tried; a run in a long row of equal lines has no better one.
  private static let reach = 100
  let old: TextLines
  let new: TextLines

  /// The same changes, in better places.
  mutating func slide(_ changes: [SequenceChange]) -> [SequenceChange] {
    var changes = changes
    for index in changes.indices {
      let change = changes[index]
      guard change.old.isEmpty != change.new.isEmpty else { continue }
      let isAddition = change.old.isEmpty
      let text = isAddition ? new : old
      let run = isAddition ? change.new : change.old
      // One line that both have stays between this change and its neighbours.
      var room = run.lowerBound
      if index > 0 {
        let end = isAddition ? changes[index - 1].new.upperBound : changes[index - 1].old.upperBound
        room = run.lowerBound - end - 1
      }
      var space = text.count - run.upperBound
      if index + 1 < changes.count {
        let start =
          isAddition ? changes[index + 1].new.lowerBound : changes[index + 1].old.lowerBound
        space = start - run.upperBound - 1
      }
      let shift = bestShift(of: run, in: text, up: max(0, room), down: max(0, space))
      changes[index] = SequenceChange(
        old: (change.old.lowerBound + shift)..<(change.old.upperBound + shift),
        new: (change.new.lowerBound + shift)..<(change.new.upperBound + shift))
    }
    return changes
  }

  private func bestShift(of run: Range<Int>, in text: TextLines, up: Int, down: Int) -> Int {
    var lowest = 0
    while -lowest < min(up, Self.reach),
      text.ids[run.lowerBound + lowest - 1] == text.ids[run.upperBound + lowest - 1]
    {
      lowest -= 1
    }
    var highest = 0
    while highest < min(down, Self.reach),
      text.ids[run.lowerBound + highest] == text.ids[run.upperBound + highest]
    {
      highest += 1
    }
    guard lowest < highest else { return 0 }
    var best = (shift: 0, score: Int.max)
    for shift in lowest...highest {
      let score =
        Self.score(text, run.lowerBound + shift) + Self.score(text, run.upperBound + shift)
      if score <= best.score { best = (shift, score) }
    }
    return best.shift
  }

  /// The score of an end of a run before a line; less is better.
  private static func score(_ text: TextLines, _ line: Int) -> Int {
    var (next, previous) = (line, line - 1)
    while next < text.count, next < line + 8, indent(text[next]) == nil { next += 1 }
    while previous >= 0, previous > line - 8, indent(text[previous]) == nil { previous -= 1 }
    let after = next < text.count ? indent(text[next]) ?? 0 : 0
    let before = previous >= 0 ? indent(text[previous]) ?? 0 : 0
    var score = 4 * after
    if line < text.count, indent(text[line]) == nil { score += 1 }
    // The line closes the block of the line before.
    if next < text.count, after < before, previous == line - 1 { score += 4 * (before - after) + 4 }
    return score
  }

  /// The columns before the first character; nil for a blank line.
  private static func indent(_ line: ArraySlice<UInt8>) -> Int? {
    var columns = 0
    for byte in line.prefix(200) {
      switch byte {
      case 0x20: columns += 1
      case 0x09: columns += 8 - columns % 8
      case 0x0A, 0x0D: return nil
      default: return columns
      }
    }
    return columns
  }
}
