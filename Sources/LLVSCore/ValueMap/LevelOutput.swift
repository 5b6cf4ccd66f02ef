/// The edits that rebuilding one level causes in the level above: removed and new nodes.
///
/// Old nodes are consumed, and runs of new ones closed, in ascending order. A new node that equals the
/// old one with the same last key keeps its location and causes no edit.
struct LevelOutput {
  private struct Consumed {
    let key: [UInt8]
    let directory: Bool
    /// Nil once it is certain that no new node can equal it.
    var node: MapNode?
    let location: Location
  }

  private let map: ValueMap
  /// Above the old root no old node refers to these nodes, so unchanged ones are edits too.
  private let namesUnchanged: Bool
  private var consumed: [Consumed] = []
  private var settled = 0
  private(set) var edits: [LevelEdit] = []

  init(map: ValueMap, namesUnchanged: Bool) {
    self.map = map
    self.namesUnchanged = namesUnchanged
  }

  mutating func consume(_ node: MapNode, at location: Location) {
    consumed.append(
      Consumed(
        key: node.key(node.count - 1), directory: node.isDirectory(node.count - 1), node: node,
        location: location))
  }

  mutating func markChanged() {
    guard !consumed.isEmpty else { return }
    consumed[consumed.count - 1].node = nil
  }

  mutating func close(_ run: inout RunBuffer) throws(StoreError) {
    guard !run.isEmpty else { return }
    for range in run.cut() { try emit(run.node(range)) }
    run.reset()
  }

  mutating func replace(
    _ index: Int, by item: [UInt8], of node: MapNode, at location: Location
  ) throws(StoreError) {
    if node.withItem(index, { raw in item.withUnsafeBytes { raw.compare(to: $0) == 0 } }) {
      if !namesUnchanged { return }
      name(node, at: location)
    } else {
      try write(node.replacing(index, by: item), after: location)
    }
  }

  /// Ends a group: all new nodes before the next old one are known.
  mutating func finishGroup() {
    for old in consumed[settled...] { drop(old) }
    consumed.removeAll(keepingCapacity: true)
    settled = 0
  }

  private mutating func drop(_ old: Consumed) {
    if namesUnchanged { return }
    edits.append(LevelEdit(key: old.key, directory: old.directory, item: nil))
  }

  private mutating func emit(_ node: MapNode) throws(StoreError) {
    let last = node.count - 1
    var location: Location?
    var replaced: Location?
    while settled < consumed.count {
      let old = consumed[settled]
      let order = node.compare(last, to: old.key, old.directory)
      guard order >= 0 else { break }
      settled += 1
      guard order > 0 else {
        replaced = old.location
        if let same = old.node, same.bytes == node.bytes { location = old.location }
        break
      }
      drop(old)
    }
    if let location {
      if namesUnchanged { name(node, at: location) }
      return
    }
    // The old node that ends where this one ends, or the old node that this one was cut from.
    let prior = consumed.isEmpty ? nil : consumed[min(settled, consumed.count - 1)].location
    try write(node, after: replaced ?? prior)
  }

  private mutating func write(_ node: MapNode, after old: Location?) throws(StoreError) {
    let place = try node.bytes.withUnsafeBufferPointer { bytes throws(StoreError) in
      try map.storage.writeNode(UnsafeRawBufferPointer(bytes), after: old)
    }
    map.cache.insert(node, at: place)
    name(node, at: place)
  }

  /// Adds the edit that makes the level above refer to a node.
  private mutating func name(_ node: MapNode, at place: Location) {
    let last = node.count - 1
    let child = MapChild(location: place, digest: node.builtDigest, count: node.entryCount)
    let item = node.withKey(last) {
      MapItem.encode(child, lastKey: $0, directory: node.isDirectory(last))
    }
    edits.append(
      LevelEdit(key: node.key(last), directory: node.isDirectory(last), item: item))
  }
}
