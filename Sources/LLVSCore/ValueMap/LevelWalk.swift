/// Walks the nodes of one level of a map's tree, forward and back.
struct LevelWalk {
  private let map: ValueMap
  private let level: Int
  private let root: MapNode
  private let rootLocation: Location
  /// The nodes from the root down to the level above; empty if the level is the root's own.
  private var frames: [MapWalk.Frame] = []
  private(set) var node: MapNode
  private(set) var location: Location

  init(map: ValueMap, root: MapNode, at location: Location, level: Int) {
    self.map = map
    self.level = level
    self.root = root
    rootLocation = location
    node = root
    self.location = location
  }

  /// Goes to the node of a key: the first whose last key is not before it, otherwise the last.
  mutating func seek(_ key: [UInt8], _ directory: Bool) throws(StoreError) {
    frames.removeAll(keepingCapacity: true)
    (node, location) = (root, rootLocation)
    while node.level > level { try enter(min(node.search(key, directory), node.count - 1)) }
  }

  var isLast: Bool { frames.allSatisfy { $0.index + 1 == $0.node.count } }

  /// True if a run starts with this node: it is the first, or the node before ends a run.
  var startsRun: Bool {
    guard let above = frames.last(where: { $0.index > 0 }) else { return true }
    // The last key of a subtree is the last key of its last node on every level.
    return above.node.withKey(above.index - 1) { KeyHash($0).endsRun(atLevel: level) }
  }

  mutating func forward() throws(StoreError) { try step(1) }
  mutating func back() throws(StoreError) { try step(-1) }

  private mutating func step(_ by: Int) throws(StoreError) {
    var depth = frames.count - 1
    while depth >= 0, !(0..<frames[depth].node.count).contains(frames[depth].index + by) {
      depth -= 1
    }
    guard depth >= 0 else { return }
    frames.removeLast(frames.count - 1 - depth)
    let turn = frames.removeLast()
    node = turn.node
    try enter(turn.index + by)
    while node.level > level { try enter(by > 0 ? 0 : node.count - 1) }
  }

  private mutating func enter(_ index: Int) throws(StoreError) {
    frames.append(MapWalk.Frame(node: node, index: index))
    location = node.child(index).location
    node = try map.child(index, of: node)
  }
}
