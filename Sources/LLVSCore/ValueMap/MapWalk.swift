/// A position in a map's tree: the nodes from the root down to a level, with an item of each.
struct MapWalk {
  struct Frame {
    let node: MapNode
    var index: Int
  }

  let map: ValueMap
  private(set) var frames: [Frame] = []

  init(_ map: ValueMap) throws(StoreError) {
    self.map = map
    guard let root = try map.rootNode() else { return }
    frames.reserveCapacity(root.level + 1)
    frames.append(Frame(node: root, index: 0))
  }

  /// Begins without a position, as at the end.
  init(unmovedOn map: ValueMap) { self.map = map }

  @inline(__always)
  var isAtEnd: Bool { frames.isEmpty }

  /// The level of the item at the position: 0 for an entry, higher for a subtree.
  var level: Int { frames[frames.count - 1].node.level }
  var node: MapNode { frames[frames.count - 1].node }
  var index: Int { frames[frames.count - 1].index }

  /// Goes from a subtree to its first item.
  mutating func descend() throws(StoreError) {
    let top = frames[frames.count - 1]
    frames.append(Frame(node: try map.child(top.index, of: top.node), index: 0))
  }

  /// Goes to the item after this one, which may be on a higher level.
  mutating func advance() {
    while let top = frames.last {
      guard top.index + 1 == top.node.count else {
        frames[frames.count - 1].index += 1
        return
      }
      frames.removeLast()
    }
  }

  /// Moves `count` items further within this node.
  mutating func advance(by count: Int) {
    frames[frames.count - 1].index += count - 1
    advance()
  }

  /// Goes forward to the first entry that is not before a key; never goes back.
  mutating func seekForward(to key: [UInt8], _ directory: Bool) throws(StoreError) {
    while let top = frames.last, top.node.compare(top.node.count - 1, to: key, directory) < 0 {
      frames.removeLast()
    }
    while let top = frames.last {
      let index = max(top.index, top.node.search(key, directory))
      // The last item is not before the key, unless the tree contradicts itself.
      guard index < top.node.count else { throw .corrupt("a map node ends before its parent says") }
      frames[frames.count - 1].index = index
      guard top.node.level > 0 else { return }
      try descend()
    }
  }
}
