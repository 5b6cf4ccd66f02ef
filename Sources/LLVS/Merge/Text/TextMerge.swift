/// Merges texts line by line over what both came from.
///
/// A line is its bytes with its end, so that CRLF and a missing last newline are kept as each side has
/// them. Any encoding in which a newline is a newline will do.
package enum TextMerge {
  /// Longer texts are not merged.
  package static let maximumLength = 8 << 20

  /// Whether bytes are a text: not too long, and without a zero byte.
  package static func isText(_ bytes: [UInt8]) -> Bool {
    bytes.count <= maximumLength && !bytes.contains(0)
  }

  /// A part of the merge.
  package enum Piece: Hashable {
    /// What nobody changed, or one side did, or both did alike.
    case agreed([UInt8])
    /// What both changed differently.
    case clash(base: [UInt8], first: [UInt8], second: [UInt8])
  }

  /// Returns the merged text; nil where both changed the same lines, or lines beside each other,
  /// differently, or where the texts differ in too much.
  package static func merged(base: [UInt8], first: [UInt8], second: [UInt8]) -> [UInt8]? {
    guard let pieces = pieces(base: base, first: first, second: second) else { return nil }
    var merged: [UInt8] = []
    merged.reserveCapacity(max(first.count, second.count))
    for piece in pieces {
      guard case .agreed(let bytes) = piece else { return nil }
      merged += bytes
    }
    return merged
  }

  /// Returns the parts of the merge in order; nil where it is no text or differs in too much.
  package static func pieces(base: [UInt8], first: [UInt8], second: [UInt8]) -> [Piece]? {
    guard isText(base), isText(first), isText(second) else { return nil }
    var table = LineTable()
    let (o, a, b) = (table.lines(base), table.lines(first), table.lines(second))
    guard let toFirst = SequenceDiff.changes(from: o.ids, to: a.ids),
      let toSecond = SequenceDiff.changes(from: o.ids, to: b.ids)
    else { return nil }
    var pieces: [Piece] = []
    var position = 0
    var (i, j) = (0, 0)
    func agree(_ bytes: ArraySlice<UInt8>) {
      guard !bytes.isEmpty else { return }
      pieces.append(.agreed(Array(bytes)))
    }
    while i < toFirst.count || j < toSecond.count {
      // A group: changes of both sides that overlap or touch.
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
      agree(o.bytes(position..<next))
      let ours = a.bytes(span(toFirst, firstStart..<i, next..<end))
      let theirs = b.bytes(span(toSecond, secondStart..<j, next..<end))
      if j == secondStart {
        agree(ours)
      } else if i == firstStart {
        agree(theirs)
      } else if ours == theirs {
        agree(ours)
      } else {
        pieces.append(
          .clash(
            base: Array(o.bytes(next..<end)), first: Array(ours), second: Array(theirs)))
      }
      position = end
    }
    agree(o.bytes(position..<o.ids.count))
    return pieces
  }

  /// What a side has in place of a run of the base.
  private static func span(
    _ changes: [SequenceChange], _ group: Range<Int>, _ base: Range<Int>
  ) -> Range<Int> {
    guard let head = group.first, let tail = group.last else { return 0..<0 }
    let (first, last) = (changes[head], changes[tail])
    let start = first.new.lowerBound - (first.old.lowerBound - base.lowerBound)
    return start..<(last.new.upperBound + (base.upperBound - last.old.upperBound))
  }
}
