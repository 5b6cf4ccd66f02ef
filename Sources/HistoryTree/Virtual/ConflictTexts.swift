package import LLVSCore

/// The texts of a conflict: what its sides made of what both came from.
package struct ConflictTexts: Sendable {
  /// Empty where nothing was before.
  package let base: [UInt8]
  /// What the tree holds, then what was dropped, newest first.
  package let sides: [TextMerge.Side]

  /// The file of a dropped revision: `theirs`, `theirs.2` and so on.
  package static func name(ofTheirs index: Int) -> String {
    index == 0 ? "theirs" : "theirs.\(index + 1)"
  }

  /// Reads the texts.
  ///
  /// - Returns: nil where a side removed the value, is no regular file, or is longer than texts are merged.
  /// - Throws: what reading the store throws.
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

  /// The merge with markers: of two sides of JSON by property, else by line; nil where a side is no text.
  package var marked: [UInt8]? {
    if sides.count == 2, let marked = JSONMerge.marked(base: base, sides[0], sides[1]) {
      return marked
    }
    return TextMerge.marked(base: base, sides)
  }

  /// Whether a text that was made of these still has lines of markers.
  package func areMarkersLeft(in text: [UInt8]) -> Bool {
    TextMerge.holdsMarkers(text, besides: [base] + sides.map(\.text))
  }
}
