/// Merges JSON texts property by property over what both came from.
///
/// What the first side has stays as it is written; what the second side changed is put in as it is
/// written there. Arrays whose elements are objects with an id are merged element by element, others
/// are taken whole from the side that changed them.
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
      guard let key = sharedIDKey(x, y, z) else { throw Clash() }
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
    var previous: ArraySlice<UInt8>?
    for item in z {
      let name = identity(item, second.text)
      defer { previous = name }
      guard inFirst[name] == nil else { continue }
      if let old = inBase[name] {
        guard isBase(old.value, second: item.value) else { throw Clash() }
        continue
      }
      let new = Output(
        identity: name, bytes: second.text[item.name] + second.text[item.value.range], place: nil,
        source: item)
      let after = previous.flatMap { name in output.firstIndex { $0.identity == name } }
      output.insert(new, at: after.map { $0 + 1 } ?? (previous == nil ? 0 : output.count))
    }
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
