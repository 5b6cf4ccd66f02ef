extension TextMerge {
  /// One of the texts to merge for a person to read.
  package struct Side: Sendable {
    package var label: String
    package var text: [UInt8]
    /// The rank of the side by age, the oldest 0; of lines that two add at one place the older side's come first.
    package var age: Int

    package init(_ label: String, _ text: [UInt8], age: Int = 0) {
      self.label = label
      self.text = text
      self.age = age
    }
  }

  static let startMarker = Array("<<<<<<< ".utf8)
  static let middleMarker = Array("=======".utf8)
  static let endMarker = Array(">>>>>>> ".utf8)

  /// Returns the merge of sides over their base, with clashes between lines of markers as in diff3(1) and git; nil
  /// if something is no text.
  ///
  /// The first of two sides is first. Further sides are merged one after the other, so their markers may be nested.
  /// Texts with too many differences clash as a whole. If the base is not known, all differences clash.
  package static func marked(base: [UInt8]?, _ sides: [Side]) -> [UInt8]? {
    guard isText(base ?? []), sides.allSatisfy({ isText($0.text) }), var merged = sides.first else {
      return nil
    }
    for side in sides.dropFirst() {
      let isFirstOlder = merged.age <= side.age
      let (older, newer) = isFirstOlder ? (merged.text, side.text) : (side.text, merged.text)
      guard
        let pieces = pieces(base: base, older: older, newer: newer, clashing: base == nil)
      else { return nil }
      merged.text = marked(pieces, merged.label, side.label, isFirstOlder: isFirstOlder)
      let known = base ?? []
      let ending = Ending([known, older, newer])
      if case .agreed? = pieces.last, !ending.isMerged(base: known, older: older, newer: newer) {
        ending.remove(from: &merged.text)
      }
      merged.age = max(merged.age, side.age)
    }
    return merged.text
  }

  private static func marked(
    _ pieces: [Piece], _ first: String, _ second: String, isFirstOlder: Bool
  ) -> [UInt8] {
    var text: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .agreed(let bytes): text += bytes
      case .clash(_, let older, let newer):
        let newline: [UInt8] = usesCRLF(older) || usesCRLF(newer) ? [0x0D, 0x0A] : [0x0A]
        text += startMarker + Array(first.utf8) + newline
        text += isFirstOlder ? older : newer
        text += middleMarker + newline
        text += isFirstOlder ? newer : older
        text += endMarker + Array(second.utf8) + newline
      }
    }
    return text
  }

  package static func holdsMarkers(_ text: [UInt8], besides others: [[UInt8]]) -> Bool {
    var rest = markers(in: text)
    guard !rest.isEmpty else { return false }
    for other in others { rest.subtract(markers(in: other)) }
    return !rest.isEmpty
  }

  private static func markers(in text: [UInt8]) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    for var line in text.split(separator: 0x0A) {
      if line.last == 0x0D { line.removeLast() }
      if line.starts(with: startMarker) || line.starts(with: endMarker)
        || line.elementsEqual(middleMarker)
      {
        found.insert(Array(line))
      }
    }
    return found
  }
}
