/// Merges JSON texts property by property over their base.
///
/// The merge takes a property that one side changed, added or removed from that side, and a property that both
/// changed from the newer. Each item is copied as its side wrote it. Arrays of objects with ids are merged by id,
/// other arrays as texts by lines. If both add items at one place, both stay, the older side's first, equal ones
/// once. Numbers and strings are equal if they are written the same.
package struct JSONMerge {
  struct Document {
    let text: [UInt8]
    let top: JSONText

    init?(_ text: [UInt8]) {
      guard let top = JSONText.parse(text) else { return nil }
      self.text = text
      self.top = top
    }

    /// The text before and behind the value.
    var frame: (ArraySlice<UInt8>, ArraySlice<UInt8>) {
      (text[..<top.range.lowerBound], text[top.range.upperBound...])
    }
  }

  typealias Item = JSONText.Item

  enum Outcome {
    case value(ArraySlice<UInt8>)
    case clash
  }

  /// An item of the merged container.
  struct Output {
    /// The item up to its value, and the value.
    var bytes: ArraySlice<UInt8>
    /// Its position in the older side; nil for an item from the newer.
    var place: Int?
    var source: Item
    /// The values of each side, if a person is to choose.
    var choice: Choice?
  }

  /// The items of each side, for a person to choose from.
  struct Choice {
    var older: [ArraySlice<UInt8>]
    var newer: [ArraySlice<UInt8>]
  }

  let base: Document
  let older: Document
  let newer: Document
  /// The markers of clashes for a person; nil if the newer side's values are taken.
  let markers: Markers?
  private(set) var hasClash = false

  /// True if bytes are a JSON object or array of a kind that can be merged.
  package static func isJSON(_ bytes: [UInt8]) -> Bool { JSONText.parse(bytes) != nil }

  /// Merges two texts over their base; nil if one of them is no JSON object or array.
  package static func merged(base: [UInt8], older: [UInt8], newer: [UInt8]) -> MergedContent? {
    guard var merge = JSONMerge(base, older, newer, markers: nil) else { return nil }
    let bytes: [UInt8]
    switch merge.value(merge.base.top, merge.older.top, merge.newer.top) {
    case .value(let value): bytes = merge.framed(value)
    case .clash:
      merge.noteClash()
      bytes = newer
    }
    return isJSON(bytes) ? MergedContent(bytes: bytes, hasClash: merge.hasClash) : nil
  }

  init?(_ base: [UInt8], _ older: [UInt8], _ newer: [UInt8], markers: Markers?) {
    guard let base = Document(base), let older = Document(older), let newer = Document(newer)
    else { return nil }
    self.base = base
    self.older = older
    self.newer = newer
    self.markers = markers
  }

  mutating func noteClash() { hasClash = true }

  func framed(_ value: ArraySlice<UInt8>) -> [UInt8] {
    let (o, a, b) = (base.frame, older.frame, newer.frame)
    return Array((a.0 == o.0 ? b.0 : a.0) + value + (a.1 == o.1 ? b.1 : a.1))
  }

  func isBase(_ base: JSONText, older: JSONText) -> Bool {
    JSONText.isSame(base, in: self.base.text, older, in: self.older.text)
  }

  func isBase(_ base: JSONText, newer: JSONText) -> Bool {
    JSONText.isSame(base, in: self.base.text, newer, in: self.newer.text)
  }

  /// An item that one side changed and the other removed; nil if the merge removes it.
  mutating func value(_ o: JSONText?, _ a: JSONText, _ b: JSONText) -> Outcome {
    let (mine, theirs) = (older.text[a.range], newer.text[b.range])
    if mine == theirs { return .value(mine) }
    if let o {
      let before = base.text[o.range]
      if before == mine { return .value(theirs) }
      if before == theirs { return .value(mine) }
    }
    if JSONText.isSame(a, in: older.text, b, in: newer.text) { return .value(mine) }
    if let o {
      if isBase(o, newer: b) { return .value(mine) }
      if isBase(o, older: a) { return .value(theirs) }
    }
    switch (o?.kind, a.kind, b.kind) {
    case (.object(let x, _)?, .object(let y, _), .object(let z, _)):
      return .value(members(x, y, z, a))
    case (nil, .object(let y, _), .object(let z, _)): return .value(members([], y, z, a))
    case (.array(let x)?, .array(let y), .array(let z)): return .value(array(x, y, z, a))
    case (nil, .array(let y), .array(let z)): return .value(array([], y, z, a))
    default: return .clash
    }
  }

  /// An item whose value both sides have.
  mutating func item(_ o: JSONText?, _ mine: Item, _ theirs: Item, place: Int) -> Output {
    let name = older.text[mine.name]
    switch value(o, mine.value, theirs.value) {
    case .value(let value): return Output(bytes: name + value, place: place, source: mine)
    case .clash:
      noteClash()
      let ours = name + older.text[mine.value.range]
      let others = name + newer.text[theirs.value.range]
      return Output(
        bytes: others, place: place, source: mine,
        choice: markers == nil ? nil : Choice(older: [ours], newer: [others]))
    }
  }

  func own(_ item: Item, place: Int) -> Output {
    Output(
      bytes: older.text[item.name] + older.text[item.value.range], place: place, source: item)
  }

  func other(_ item: Item) -> Output {
    Output(bytes: newer.text[item.name] + newer.text[item.value.range], place: nil, source: item)
  }
}
