package import LLVSCore

package struct ConflictTexts: Sendable {
  package let base: [UInt8]
  /// The tree's text, then the dropped ones, newest first.
  package let sides: [TextMerge.Side]

  package static func name(ofTheirs index: Int) -> String {
    index == 0 ? "theirs" : "theirs.\(index + 1)"
  }

  /// Nil if a side removed the value, is no regular file, or is too long for a text merge.
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
    base = if let base = conflict.base { try bytes(base) } else { [] }
  }

  /// The merge with markers: two sides of JSON by property, others by line; nil if a side is no text.
  package var marked: [UInt8]? {
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
