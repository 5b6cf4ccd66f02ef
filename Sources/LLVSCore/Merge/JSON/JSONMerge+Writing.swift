// Writes the merge: items separated as in the older side, clashes between markers.

extension JSONMerge {
  struct Markers {
    /// The text behind the first marker, and behind the last.
    var first: [UInt8]
    var second: [UInt8]
    var isOlderFirst: Bool
  }

  /// Returns the merge for a person to read: lines of markers enclose each property that both changed differently,
  /// the first side first; nil if a text is no JSON object or array.
  package static func marked(
    base: [UInt8], _ first: TextMerge.Side, _ second: TextMerge.Side
  ) -> [UInt8]? {
    let isOlderFirst = first.age <= second.age
    let (older, newer) = isOlderFirst ? (first.text, second.text) : (second.text, first.text)
    let markers = Markers(
      first: Array(first.label.utf8), second: Array(second.label.utf8), isOlderFirst: isOlderFirst)
    guard var merge = JSONMerge(base, older, newer, markers: markers),
      case .value(let value) = merge.value(merge.base.top, merge.older.top, merge.newer.top)
    else { return nil }
    return merge.framed(value)
  }

  func written(_ output: [Output], _ y: [Item], _ z: [Item], _ a: JSONText) -> ArraySlice<UInt8> {
    let text = older.text
    let opening = y.first.map { text[$0.lead] } ?? z.first.map { newer.text[$0.lead] } ?? []
    let closing = y.last.map { text[$0.trail] } ?? z.last.map { newer.text[$0.trail] } ?? []
    let isOneLine = !opening.contains(0x0A)
    let between =
      y.count > 1
      ? text[y[1].lead]
      : isOneLine && z.count > 1 ? newer.text[z[1].lead] : opening
    var writer = JSONItemWriter(text[a.range.lowerBound], markers)
    for (index, item) in output.enumerated() {
      let isLast = index == output.count - 1
      let isOwn = index > 0 && (item.place ?? 0) > 0
      let lead = index == 0 ? opening : isOwn ? text[item.source.lead] : between
      if let choice = item.choice {
        writer.add(choice, lead: lead, isLast: isLast)
      } else {
        let trail =
          !isLast && item.place.map { $0 < y.count - 1 } ?? false ? text[item.source.trail] : []
        // A choice that removes the last item also removes the comma before it.
        let comesWithComma =
          index == output.count - 2 && output[index + 1].choice?.isRemoval == true
        writer.add(item.bytes + trail, lead: lead, hasComma: !isLast && !comesWithComma)
      }
    }
    return writer.closed(text[a.range.upperBound - 1], closing: output.isEmpty ? [] : closing)
  }
}

extension JSONMerge.Choice {
  var isRemoval: Bool { older.isEmpty || newer.isEmpty }
}

private struct JSONItemWriter {
  private var bytes: ArraySlice<UInt8>
  private let markers: JSONMerge.Markers?
  /// True if a marker was written last; a line begins after it.
  private var isBehindMarker = false

  init(_ opening: UInt8, _ markers: JSONMerge.Markers?) {
    bytes = [opening]
    self.markers = markers
  }

  mutating func add(_ item: ArraySlice<UInt8>, lead: ArraySlice<UInt8>, hasComma: Bool) {
    space(lead)
    bytes += item
    if hasComma { bytes.append(UInt8(ascii: ",")) }
  }

  /// White space, without the line's end that a marker brought.
  private mutating func space(_ lead: ArraySlice<UInt8>) {
    let lineEnd = isBehindMarker ? lead.firstIndex(of: 0x0A) : nil
    bytes += lineEnd.map { lead[($0 + 1)...] } ?? lead
    isBehindMarker = false
  }

  mutating func add(_ choice: JSONMerge.Choice, lead: ArraySlice<UInt8>, isLast: Bool) {
    guard let markers else { return }
    let indent = lead.contains(0x0A) ? lead[((lead.lastIndex(of: 0x0A) ?? 0) + 1)...] : []
    if bytes.last != 0x0A { bytes.append(0x0A) }
    let isFirst = bytes.count == 2
    func add(_ items: [ArraySlice<UInt8>], to bytes: inout ArraySlice<UInt8>) {
      for (index, item) in items.enumerated() {
        let hasCommaBefore = index == 0 && isLast && choice.isRemoval && !isFirst
        bytes += indent + (hasCommaBefore ? [UInt8(ascii: ",")] : []) + item
        if index < items.count - 1 || !isLast { bytes.append(UInt8(ascii: ",")) }
        bytes.append(0x0A)
      }
    }
    bytes += TextMerge.startMarker + markers.first + [0x0A]
    add(markers.isOlderFirst ? choice.older : choice.newer, to: &bytes)
    bytes += TextMerge.middleMarker + [0x0A]
    add(markers.isOlderFirst ? choice.newer : choice.older, to: &bytes)
    bytes += TextMerge.endMarker + markers.second + [0x0A]
    isBehindMarker = true
  }

  mutating func closed(_ end: UInt8, closing: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    space(closing)
    bytes.append(end)
    return bytes
  }
}
