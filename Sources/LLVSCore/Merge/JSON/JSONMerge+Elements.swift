// Arrays without ids: elements are identified by their positions, as the lines of a text are.

extension JSONMerge {
  mutating func elements(
    _ x: [Item], _ y: [Item], _ z: [Item], _ a: JSONText
  ) -> ArraySlice<UInt8> {
    var known: [[UInt8]: Int32] = [:]
    var texts: [[UInt8]] = []
    func numbers(_ items: [Item], _ text: [UInt8]) -> [Int32] {
      items.map { item in
        let canonical = item.value.canonical(in: text)
        if let number = known[canonical] { return number }
        known[canonical] = Int32(texts.count)
        texts.append(canonical)
        return Int32(texts.count - 1)
      }
    }
    let (o, p, q) = (numbers(x, base.text), numbers(y, older.text), numbers(z, newer.text))
    func changes(to side: [Int32]) -> [SequenceChange] {
      let (from, texts) = (o, texts)
      var refiner = ChangeRefiner(
        old: { texts[Int(from[$0])][...] }, new: { texts[Int(side[$0])][...] })
      return refiner.refined(
        TextDiff.changes(from: from, to: side, steps: SequenceDiff.maximumSteps))
    }
    let parts = SequenceMerge.parts(ofBase: o.count, changes(to: p), changes(to: q)) {
      p[$0] == q[$1]
    }
    var output: [Output] = []
    for part in parts {
      switch part.kind {
      case .same, .older, .alike: output += part.older.map { own(y[$0], place: $0) }
      case .newer: output += part.newer.map { other(z[$0]) }
      case .both:
        output += part.older.map { own(y[$0], place: $0) }
        // Equal elements: as many as one side has.
        var there: [Int32: Int] = [:]
        for place in part.older { there[p[place], default: 0] += 1 }
        for place in part.newer {
          if let count = there[q[place]], count > 0 {
            there[q[place]] = count - 1
          } else {
            output.append(other(z[place]))
          }
        }
      case .clash: output += clash(part, x, y, z)
      }
    }
    return written(output, y, z, a)
  }

  /// Elements that both replaced differently, or one replaced and one removed.
  private mutating func clash(
    _ part: SequenceMerge.Part, _ x: [Item], _ y: [Item], _ z: [Item]
  ) -> [Output] {
    if part.base.count == 1, part.older.count == 1, part.newer.count == 1 {
      let place = part.older.lowerBound
      return [item(x[part.base.lowerBound].value, y[place], z[part.newer.lowerBound], place: place)]
    }
    noteClash()
    guard markers != nil else { return part.newer.map { other(z[$0]) } }
    let choice = Choice(
      older: part.older.map { older.text[y[$0].value.range] },
      newer: part.newer.map { newer.text[z[$0].value.range] })
    let source: Item
    if let place = part.older.first { source = y[place] } else { source = z[part.newer.lowerBound] }
    return [Output(bytes: [], place: part.older.first, source: source, choice: choice)]
  }
}
