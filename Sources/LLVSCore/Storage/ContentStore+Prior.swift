/// The parts of an older value that a new one may be stored against.
extension ContentStore {
  /// The most older parts that a new one is compared with.
  private static let mostPriors = 5

  /// Returns the places of a value's chunks in a range of its bytes, the first few.
  func chunks(of value: StoredContent, in range: Range<UInt64>) -> [Location] {
    if case .chunk(let location) = value.content { return [location] }
    return parts(of: value, level: -1, in: range)
  }

  /// Returns the places of the nodes of a level in a range of a value's bytes, in the same number.
  func nodes(of value: StoredContent, level: Int, in range: Range<UInt64>) -> [Location] {
    parts(of: value, level: level, in: range)
  }

  private func parts(of value: StoredContent, level: Int, in range: Range<UInt64>) -> [Location] {
    var places: [Location] = []
    // A value that cannot be read is no base.
    guard case .tree(let top) = value.content, let node = try? node(top, value.digest) else {
      return []
    }
    if Int(node.level) == level { return [top] }
    collect(below: node, from: 0, level, range, into: &places)
    return places
  }

  private func collect(
    below node: ValueNode, from start: UInt64, _ level: Int, _ range: Range<UInt64>,
    into places: inout [Location]
  ) {
    guard range.upperBound > start, range.lowerBound < start + node.length else { return }
    var index = node.index(of: max(range.lowerBound, start) - start)
    while index < node.items.count, start + node.starts[index] < range.upperBound,
      places.count < Self.mostPriors
    {
      let item = node.items[index]
      if let location = item.location, Int(node.level) == level + 1 {
        places.append(location)
      } else if item.kind == .node, let child = try? child(of: node, at: index) {
        collect(below: child, from: start + node.starts[index], level, range, into: &places)
      }
      index += 1
    }
  }
}
