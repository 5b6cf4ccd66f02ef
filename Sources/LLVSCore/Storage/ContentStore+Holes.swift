/// A run of a value's bytes that is stored, or one that is zeros and takes no room.
package struct ContentRun: Hashable, Sendable {
  package var isHole: Bool
  /// The first offset behind it.
  package var end: UInt64

  package init(isHole: Bool, end: UInt64) {
    self.isHole = isHole
    self.end = end
  }
}

extension ContentStore {
  /// What stands at an offset of a value, which must be inside it.
  ///
  /// Neighbouring runs may be of one sort: a chunk ends a run.
  ///
  /// - Complexity: O(log *n*) for *n* chunks.
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

  /// How many bytes of a value are zeros that take no room; of a very large one that was stored before
  /// nodes told it, those in its first nodes.
  ///
  /// - Complexity: one node; where it does not tell, O(*n* / 74) for *n* chunks, at most 64 nodes.
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

  /// An item with its zeros, if only the node itself tells them and is in memory: who changes a value has
  /// looked it up.
  func telling(_ item: ValueNode.Item) -> ValueNode.Item {
    guard item.zeros == nil, let location = item.location else { return item }
    var told = item
    told.zerosBelow = remembered(location)?.zeros
    return told
  }
}
