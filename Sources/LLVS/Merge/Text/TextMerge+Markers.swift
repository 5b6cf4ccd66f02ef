extension TextMerge {
  /// One of the texts that are merged for a person to look at.
  package struct Side {
    package var label: String
    package var text: [UInt8]

    package init(_ label: String, _ text: [UInt8]) {
      self.label = label
      self.text = text
    }
  }

  private static let start = Array("<<<<<<< ".utf8)
  private static let middle = Array("=======".utf8)
  private static let end = Array(">>>>>>> ".utf8)

  /// Returns the merge of sides over what they came from, with what clashes between lines of markers as
  /// diff3(1) and git have them; nil where something is no text.
  ///
  /// Further sides are merged in one after the other, so that their markers may stand within others. Texts
  /// that differ in too much clash as a whole.
  package static func marked(base: [UInt8], _ sides: [Side]) -> [UInt8]? {
    guard isText(base), sides.allSatisfy({ isText($0.text) }), var merged = sides.first else {
      return nil
    }
    for side in sides.dropFirst() {
      let pieces =
        pieces(base: base, first: merged.text, second: side.text)
        ?? [.clash(base: base, first: merged.text, second: side.text)]
      merged.text = marked(pieces, merged.label, side.label)
    }
    return merged.text
  }

  private static func marked(_ pieces: [Piece], _ first: String, _ second: String) -> [UInt8] {
    var text: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .agreed(let bytes): text += bytes
      case .clash(_, let ours, let theirs):
        let newline: [UInt8] = usesCRLF(ours) || usesCRLF(theirs) ? [0x0D, 0x0A] : [0x0A]
        func line(_ bytes: [UInt8]) {
          if let last = text.last, last != 0x0A { text += newline }
          text += bytes + newline
        }
        line(start + Array(first.utf8))
        text += ours
        line(middle)
        text += theirs
        line(end + Array(second.utf8))
      }
    }
    return text
  }

  private static func usesCRLF(_ bytes: [UInt8]) -> Bool {
    guard let end = bytes.firstIndex(of: 0x0A), end > 0 else { return false }
    return bytes[end - 1] == 0x0D
  }

  /// Whether a text has lines of markers that none of the texts it was merged from has.
  ///
  /// - Complexity: O(lines).
  package static func holdsMarkers(_ text: [UInt8], besides others: [[UInt8]]) -> Bool {
    var rest = markers(in: text)
    guard !rest.isEmpty else { return false }
    for other in others { rest.subtract(markers(in: other)) }
    return !rest.isEmpty
  }

  /// The lines that look like markers, without their ends.
  private static func markers(in text: [UInt8]) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    for var line in text.split(separator: 0x0A) {
      if line.last == 0x0D { line.removeLast() }
      if line.starts(with: start) || line.starts(with: end) || line.elementsEqual(middle) {
        found.insert(Array(line))
      }
    }
    return found
  }
}
