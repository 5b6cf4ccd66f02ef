/// Merges JSON texts property by property over what both came from.
///
/// What the first side has stays as it is written; what the second side changed is put in as it is
/// written there. Arrays whose elements are objects with an id are merged element by element, by id;
/// others as texts are by lines: elements that one side added, removed or replaced are taken from it, and
/// where both did so in the same place, or beside each other, differently, they clash. Two that both added
/// at the end clash for that reason: nothing says which comes first. Numbers and strings are equal where
/// they are written the same.
package struct JSONMerge {
  private struct Clash: Error {}

  private struct Document {
    let text: [UInt8]
    let top: JSONText

    init?(_ text: [UInt8]) {
      guard let top = JSONText.parse(text) else { return nil }
      self.text = text
      self.top = top
    }
  }

  private typealias Item = JSONText.Item

  /// The members, in order of preference, that tell elements of an array apart.
  private static let idKeys = ["\"id\"", "\"_id\"", "\"uuid\"", "\"key\""].map {
    ArraySlice($0.utf8)
  }

  private let base: Document
  private let first: Document
  private let second: Document

  /// Whether bytes are a JSON object or array of a kind that can be merged.
  package static func isJSON(_ bytes: [UInt8]) -> Bool { JSONText.parse(bytes) != nil }

  /// Returns the merged text; nil where both changed the same property differently, or where one of
  /// the texts is no JSON object or array.
  package static func merged(base: [UInt8], first: [UInt8], second: [UInt8]) -> [UInt8]? {
    guard let base = Document(base), let first = Document(first), let second = Document(second)
    else { return nil }
    let merge = JSONMerge(base: base, first: first, second: second)
    guard let value = try? merge.value(base.top, first.top, second.top) else { return nil }
    let frame = first.text
    let merged =
      frame[..<first.top.range.lowerBound] + value + frame[first.top.range.upperBound...]
    return JSONText.parse(Array(merged)) == nil ? nil : Array(merged)
  }

  private func isBase(_ base: JSONText, first: JSONText) -> Bool {
    JSONText.isSame(base, in: self.base.text, first, in: self.first.text)
  }

  private func isBase(_ base: JSONText, second: JSONText) -> Bool {
    JSONText.isSame(base, in: self.base.text, second, in: self.second.text)
  }

  private func value(
    _ o: JSONText?, _ a: JSONText, _ b: JSONText
  ) throws(Clash) -> ArraySlice<UInt8> {
    if JSONText.isSame(a, in: first.text, b, in: second.text) { return first.text[a.range] }
    guard let o else { throw Clash() }
    if isBase(o, second: b) { return first.text[a.range] }
    if isBase(o, first: a) { return second.text[b.range] }
    switch (o.kind, a.kind, b.kind) {
    case (.object(let x, _), .object(let y, _), .object(let z, _)):
      return try items(x, y, z, like: a, or: b) { item, _ in item.key }
    case (.array(let x), .array(let y), .array(let z)):
      guard let key = sharedIDKey(x, y, z) else { return try elements(x, y, z, a) }
      return try items(x, y, z, like: a, or: b) { item, text in
        guard case .object(let members, let index) = item.value.kind, let place = index[key] else {
          return []
        }
        return text[members[place].value.range]
      }
    default: throw Clash()
    }
  }

  /// The member by which all elements of all three can be told apart.
  private func sharedIDKey(_ x: [Item], _ y: [Item], _ z: [Item]) -> ArraySlice<UInt8>? {
    func tellsApart(_ key: ArraySlice<UInt8>, _ items: [Item], _ text: [UInt8]) -> Bool {
      var seen: Set<ArraySlice<UInt8>> = []
      return items.allSatisfy { item in
        guard case .object(let members, let index) = item.value.kind, let place = index[key],
          case .scalar = members[place].value.kind
        else { return false }
        return seen.insert(text[members[place].value.range]).inserted
      }
    }
    return Self.idKeys.first {
      tellsApart($0, x, base.text) && tellsApart($0, y, first.text)
        && tellsApart($0, z, second.text)
    }
  }

  // MARK: Objects, and arrays of objects with ids

  private struct Output {
    var identity: ArraySlice<UInt8>
    /// The item up to its value, and the value.
    var bytes: ArraySlice<UInt8>
    /// Its place in the first side; nil where it comes from the second.
    var place: Int?
    var source: Item
  }

  private func items(
    _ x: [Item], _ y: [Item], _ z: [Item], like a: JSONText, or b: JSONText,
    _ identity: (Item, [UInt8]) -> ArraySlice<UInt8>
  ) throws(Clash) -> ArraySlice<UInt8> {
    func table(_ items: [Item], _ text: [UInt8]) -> [ArraySlice<UInt8>: Item] {
      Dictionary(items.map { (identity($0, text), $0) }) { $1 }
    }
    let (inBase, inFirst, inSecond) = (
      table(x, base.text), table(y, first.text), table(z, second.text)
    )
    // Where elements stand in another order than before, nobody can say where others belong.
    func order(_ items: [Item], _ text: [UInt8]) -> [ArraySlice<UInt8>] {
      items.map { identity($0, text) }.filter {
        inBase[$0] != nil && inFirst[$0] != nil && inSecond[$0] != nil
      }
    }
    if case .array = a.kind {
      let before = order(x, base.text)
      guard before == order(y, first.text), before == order(z, second.text) else { throw Clash() }
    }
    var output: [Output] = []
    for (place, item) in y.enumerated() {
      let name = identity(item, first.text)
      let old = inBase[name]
      if let theirs = inSecond[name] {
        let value = try value(old?.value, item.value, theirs.value)
        output.append(
          Output(
            identity: name, bytes: first.text[item.name] + value, place: place, source: item))
      } else if let old {
        // Removed by the second side.
        guard isBase(old.value, first: item.value) else { throw Clash() }
      } else {
        output.append(
          Output(
            identity: name, bytes: first.text[item.name] + first.text[item.value.range],
            place: place, source: item))
      }
    }
    return written(
      try placing(z, into: output, inBase, by: { identity($0, second.text) }), y, z, a)
  }

  /// Puts what the second side added behind what stands before it there and is still here.
  private func placing(
    _ z: [Item], into output: [Output], _ inBase: [ArraySlice<UInt8>: Item],
    by identity: (Item) -> ArraySlice<UInt8>
  ) throws(Clash) -> [Output] {
    let places = Dictionary(output.enumerated().map { ($1.identity, $0) }) { $1 }
    var added: [Int: [Output]] = [:]
    var anchor = -1
    for item in z {
      let name = identity(item)
      if let place = places[name] {
        anchor = place
      } else if let old = inBase[name] {
        // Removed by the first side.
        guard isBase(old.value, second: item.value) else { throw Clash() }
      } else {
        added[anchor, default: []].append(second(item, name))
      }
    }
    var all = added[-1] ?? []
    for (place, item) in output.enumerated() {
      all.append(item)
      all += added[place] ?? []
    }
    return all
  }

  private func second(_ item: Item, _ identity: ArraySlice<UInt8>) -> Output {
    Output(
      identity: identity, bytes: second.text[item.name] + second.text[item.value.range],
      place: nil, source: item)
  }

  // MARK: Arrays of anything

  private func elements(
    _ x: [Item], _ y: [Item], _ z: [Item], _ a: JSONText
  ) throws(Clash) -> ArraySlice<UInt8> {
    var known: [[UInt8]: Int32] = [:]
    func numbers(_ items: [Item], _ text: [UInt8]) -> [Int32] {
      items.map { item in
        let canonical = item.value.canonical(in: text)
        let number = known[canonical] ?? Int32(known.count)
        known[canonical] = number
        return number
      }
    }
    let (o, p, q) = (
      numbers(x, base.text), numbers(y, first.text), numbers(z, second.text)
    )
    let steps = SequenceDiff.maximumSteps
    let groups = SequenceMerge.groups(
      TextDiff.changes(from: o, to: p, steps: steps),
      TextDiff.changes(from: o, to: q, steps: steps))
    var output: [Output] = []
    func keep(_ places: Range<Int>) {
      for place in places {
        let item = y[place]
        output.append(
          Output(
            identity: [], bytes: first.text[item.value.range], place: place, source: item))
      }
    }
    // Where the base and the first side stand; between groups they go on alike.
    var (position, place) = (0, 0)
    for group in groups {
      let start = place + group.base.lowerBound - position
      keep(place..<start)
      position = group.base.upperBound
      place = group.first?.upperBound ?? start + group.base.count
      switch (group.first, group.second) {
      case (let mine?, nil): keep(mine)
      case (let mine?, let theirs?) where p[mine] == q[theirs]: keep(mine)
      case (nil, let theirs?): output += z[theirs].map { second($0, []) }
      case (_?, _?): throw Clash()
      case (nil, nil): break
      }
    }
    keep(place..<y.count)
    return written(output, y, z, a)
  }

  /// The container, its items separated as they are in the first side.
  private func written(
    _ output: [Output], _ y: [Item], _ z: [Item], _ a: JSONText
  ) -> ArraySlice<UInt8> {
    let text = first.text
    var bytes: ArraySlice<UInt8> = [text[a.range.lowerBound]]
    let opening = y.first.map { text[$0.lead] } ?? z.first.map { second.text[$0.lead] } ?? []
    let closing = y.last.map { text[$0.trail] } ?? z.last.map { second.text[$0.trail] } ?? []
    let isOneLine = !opening.contains(0x0A)
    let between =
      y.count > 1
      ? text[y[1].lead]
      : isOneLine && z.count > 1 ? second.text[z[1].lead] : opening
    for (index, item) in output.enumerated() {
      if index == 0 {
        bytes += opening
      } else {
        bytes.append(UInt8(ascii: ","))
        if let place = item.place, place > 0 {
          bytes += text[item.source.lead]
        } else {
          bytes += between
        }
      }
      bytes += item.bytes
      if index < output.count - 1, let place = item.place, place < y.count - 1 {
        bytes += text[item.source.trail]
      }
    }
    if !output.isEmpty { bytes += closing }
    bytes.append(text[a.range.upperBound - 1])
    return bytes
  }
}
