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
  /// differently, or where one of them is no text.
  ///
  /// Work and memory are bounded by steps, never by time, so that every replica comes to the same: what
  /// differs in more counts as replaced as a whole.
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

  /// Returns the parts of the merge in order; nil where it is no text.
  package static func pieces(base: [UInt8], first: [UInt8], second: [UInt8]) -> [Piece]? {
    guard isText(base), isText(first), isText(second) else { return nil }
    var table = LineTable()
    let (o, a, b) = (table.lines(base), table.lines(first), table.lines(second))
    let steps = SequenceDiff.maximumSteps
    let toFirst = TextDiff.changes(from: o.ids, to: a.ids, steps: steps)
    let toSecond = TextDiff.changes(from: o.ids, to: b.ids, steps: steps)
    var pieces: [Piece] = []
    var position = 0
    func agree(_ bytes: ArraySlice<UInt8>) {
      guard !bytes.isEmpty else { return }
      pieces.append(.agreed(Array(bytes)))
    }
    for group in SequenceMerge.groups(toFirst, toSecond) {
      agree(o.bytes(position..<group.base.lowerBound))
      position = group.base.upperBound
      switch (group.first.map(a.bytes), group.second.map(b.bytes)) {
      case (let ours?, nil): agree(ours)
      case (nil, let theirs?): agree(theirs)
      case (let ours?, let theirs?) where ours == theirs: agree(ours)
      case (let ours?, let theirs?):
        pieces.append(
          .clash(
            base: Array(o.bytes(group.base)), first: Array(ours), second: Array(theirs)))
      case (nil, nil): break
      }
    }
    agree(o.bytes(position..<o.ids.count))
    return pieces
  }
}
