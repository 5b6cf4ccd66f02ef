/// A place in a map's tree: the nodes from the root down and the item of each; it may stand above leaves.
struct MapWalk {
  struct Frame {
    let node: MapNode
    var index: Int
  }

  let map: ValueMap
  private(set) var frames: [Frame] = []

  /// Stands at the root's first item.
  init(_ map: ValueMap) throws(StoreError) {
    self.map = map
    guard let root = try map.rootNode() else { return }
    frames.reserveCapacity(root.level + 1)
    frames.append(Frame(node: root, index: 0))
  }

  /// Stands nowhere yet, as at the end.
  init(unmovedOn map: ValueMap) { self.map = map }

  @inline(__always)
  var isAtEnd: Bool { frames.isEmpty }

  /// The level of the item where the walk stands: 0 an entry, above a subtree whose node is one below.
  var level: Int { frames[frames.count - 1].node.level }
  var node: MapNode { frames[frames.count - 1].node }
  var index: Int { frames[frames.count - 1].index }

  /// From a subtree to its first item.
  mutating func descend() throws(StoreError) {
    let top = frames[frames.count - 1]
    frames.append(Frame(node: try map.child(top.index, of: top.node), index: 0))
  }

  /// To what follows the item, which may be above.
  mutating func advance() {
    while let top = frames.last {
      guard top.index + 1 == top.node.count else {
        frames[frames.count - 1].index += 1
        return
      }
      frames.removeLast()
    }
  }

  /// To what follows `count` items, which are all of this node.
  mutating func advance(by count: Int) {
    frames[frames.count - 1].index += count - 1
    advance()
  }

  /// Forward to the leaf item at or after a key; never goes back.
  mutating func seekForward(to key: [UInt8], _ directory: Bool) throws(StoreError) {
    while let top = frames.last, top.node.compare(top.node.count - 1, to: key, directory) < 0 {
      frames.removeLast()
    }
    while let top = frames.last {
      let index = max(top.index, top.node.search(key, directory))
      // The last item is at or after the key by now, else the tree contradicts itself.
      guard index < top.node.count else { throw .corrupt("a map node ends before its parent says") }
      frames[frames.count - 1].index = index
      guard top.node.level > 0 else { return }
      try descend()
    }
  }
}
