import Grammar
import LLVSCore
import Reports

extension History {
  /// The number of lines shown before and after a change.
  private static let context = 4
  /// The most lines of both sides in one answer.
  private static let mostLines = 20_000
  /// Longer lines are cut.
  private static let longestLine = 4000

  /// Describes the difference of two sides, by line for texts; equal lines far from changes only if `isWhole`. The
  /// lines are those of `text`, if given, in place of the new side's.
  func difference(
    from old: Entry?, to new: Entry?, path: [UInt8], isWhole: Bool, showing text: [UInt8]? = nil
  ) throws -> ReplyValue {
    func side(_ entry: Entry?) throws -> ReplyValue {
      guard let entry else { return .null }
      return [
        "type": try mediaType(entry, path: path).kind, "size": entry.stored.length,
        "mode": String(entry.attributes.mode ?? 0o644, radix: 8),
      ]
    }
    let sides: ReplyValue = ["old": try side(old), "new": try side(new)]
    let none = ReplyValue.list([])
    let pair = try ContentPair(
      old.map { FileImage($0, in: store) }, new.map { FileImage($0, in: store) })
    switch pair {
    case .same: return sides + ["outcome": "same", "parts": none]
    case .binary: return sides + ["outcome": "binary", "parts": none]
    case .texts(let a, let b):
      var table = LineTable()
      let (a, b) = text.map { (table.lines(a.text), table.lines($0)) } ?? (a, b)
      var parts = DifferenceParts(old: a, new: b, context: isWhole ? .max : Self.context)
      let values = parts.make(atMost: Self.mostLines, lineLength: Self.longestLine)
      return sides + ["outcome": "text", "parts": values, "isCut": parts.isCut]
    }
  }
}

/// The parts of a difference of texts, in order: lines of both sides, lines that differ, and gaps.
private struct DifferenceParts {
  let old: TextLines
  let new: TextLines
  let context: Int
  var isCut = false
  var values: [ReplyValue] = []
  /// The number of lines that may still be sent.
  var room = 0
  var lineLength = 0

  mutating func make(atMost most: Int, lineLength: Int) -> [ReplyValue] {
    room = most
    self.lineLength = lineLength
    let changes = TextDiff.changes(from: old, to: new)
    var (place, other) = (0, 0)
    for (index, change) in changes.enumerated() {
      same(place, change.old.lowerBound, other, isFirst: index == 0, isLast: false)
      values.append(
        [
          "kind": "change", "oldLine": change.old.lowerBound + 1,
          "newLine": change.new.lowerBound + 1, "old": lines(old, change.old),
          "new": lines(new, change.new),
        ])
      (place, other) = (change.old.upperBound, change.new.upperBound)
    }
    same(place, old.count, other, isFirst: changes.isEmpty, isLast: true)
    return values
  }

  /// Adds equal lines: those near to a change, and a gap for the others.
  private mutating func same(_ from: Int, _ to: Int, _ other: Int, isFirst: Bool, isLast: Bool) {
    let count = to - from
    guard count > 0 else { return }
    let head = isFirst ? 0 : min(context, count)
    let tail = isLast ? 0 : min(context, count - head)
    guard count - head - tail > 2 else { return add(from, to, other) }
    add(from, from + head, other)
    values.append(
      ["kind": "gap", "count": count - head - tail])
    add(to - tail, to, other + count - tail)
  }

  private mutating func add(_ from: Int, _ to: Int, _ other: Int) {
    guard to > from else { return }
    values.append(
      ["kind": "same", "oldLine": from + 1, "newLine": other + 1, "old": lines(old, from..<to)])
  }

  private mutating func lines(_ text: TextLines, _ range: Range<Int>) -> ReplyValue {
    if range.count > room { isCut = true }
    let shown = range.prefix(room)
    room -= shown.count
    return .list(
      shown.map { number in
        var line = text[number]
        if line.last == 0x0A { line = line.dropLast() }
        if line.count > lineLength { isCut = true }
        return .text(String(decoding: line.prefix(lineLength), as: UTF8.self))
      })
  }
}
