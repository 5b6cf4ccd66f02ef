package import LLVSCore

package struct ConflictTexts: Sendable {
  /// Empty without a common version, and if the bytes of that are forgotten.
  package let base: [UInt8]
  /// True if the bytes of the common version are forgotten.
  package let lacksBase: Bool
  /// The tree's text, then the dropped ones, newest first.
  package let sides: [TextMerge.Side]

  package static func name(ofTheirs index: Int) -> String {
    index == 0 ? "theirs" : "theirs.\(index + 1)"
  }

  /// Nil if a side removed the value, is no regular file, or is too long for a text merge.
  /// - Throws: ``StoreError/forgotten(_:)`` if the bytes of a side are forgotten.
  package init?(_ conflict: ValueConflict, in store: Store) throws(StoreError) {
    guard let ours = conflict.ours else { return nil }
    var entries: [(String, Entry)] = [("ours", ours)]
    for (index, revision) in conflict.theirs.enumerated() {
      guard let entry = revision.entry else { return nil }
      entries.append((Self.name(ofTheirs: index), entry))
    }
    let limit = UInt64(TextMerge.maximumLength)
    for entry in entries.map(\.1) + [conflict.base].compactMap({ $0 }) {
      guard entry.kind == .regular, entry.stored.length <= limit else { return nil }
    }
    func bytes(_ entry: Entry) throws(StoreError) -> [UInt8] {
      try store.contents.bytes(entry.stored, atMost: limit)
    }
    var sides: [TextMerge.Side] = []
    let stored = try entries.map { (_, entry) throws(StoreError) in
      try store.graph.node(entry.storedVersion)
    }
    for (index, (label, entry)) in entries.enumerated() {
      let age = stored.count { HistoryNode.isOlder($0, stored[index]) }
      sides.append(TextMerge.Side(label, try bytes(entry), age: age))
    }
    self.sides = sides
    do throws(StoreError) {
      base = if let base = conflict.base { try bytes(base) } else { [] }
      lacksBase = false
    } catch {
      guard error.isForgotten else { throw error }
      (base, lacksBase) = ([], true)
    }
  }

  /// The merge with markers: two sides of JSON by property, others by line; nil if a side is no text. Without the
  /// bytes of the common version, each difference is between markers.
  package var marked: [UInt8]? {
    if lacksBase { return TextMerge.marked(base: nil, sides) }
    if sides.count == 2, let marked = JSONMerge.marked(base: base, sides[0], sides[1]) {
      return marked
    }
    return TextMerge.marked(base: base, sides)
  }

  /// True if a text still contains lines with markers.
  package func areMarkersLeft(in text: [UInt8]) -> Bool {
    TextMerge.holdsMarkers(text, besides: [base] + sides.map(\.text))
  }
}
