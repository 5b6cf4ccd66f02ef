/// A run of a value's bytes: stored bytes, or zeros that take no space.
package struct ContentRun: Hashable, Sendable {
  package var isHole: Bool
  package var end: UInt64

  package init(isHole: Bool, end: UInt64) {
    self.isHole = isHole
    self.end = end
  }
}

extension ContentStore {
  /// Returns the run at an offset inside a value; a run ends where a chunk ends.
  package func run(_ stored: StoredContent, at offset: UInt64) throws(StoreError) -> ContentRun {
    guard case .tree(let location) = stored.content else {
      return ContentRun(isHole: false, end: stored.length)
    }
    var node = try node(location)
    var start: UInt64 = 0
    var index = node.index(of: offset)
    while node.items[index].kind == .node {
      start += node.starts[index]
      node = try child(of: node, at: index)
      index = node.index(of: offset - start)
    }
    return ContentRun(
      isHole: node.items[index].kind == .zeros,
      end: min(stored.length, start + node.starts[index + 1]))
  }

  /// Returns how many bytes of a value are zeros that take no space; for a very large value that was stored before
  /// nodes recorded this, only those below its first nodes.
  package func zeroBytes(_ stored: StoredContent) throws(StoreError) -> UInt64 {
    guard case .tree(let location) = stored.content else { return 0 }
    var rest = [try node(location)]
    var zeros: UInt64 = 0
    var visited = 0
    while let node = rest.popLast() {
      visited += 1
      for (index, item) in node.items.enumerated() {
        if let known = item.zeros {
          zeros += known
        } else if visited + rest.count < 64 {
          rest.append(try child(of: node, at: index))
        }
      }
    }
    return zeros
  }

  /// Returns an item with its number of zeros, if the node below is in memory and records that.
  func withKnownZeros(_ item: ValueNode.Item) -> ValueNode.Item {
    guard item.zeros == nil, let location = item.location else { return item }
    var known = item
    known.zerosBelow = remembered(location)?.zeros
    return known
  }
}
