/// A version's map: an immutable ordered map from keys to entries in the shape of digest 1.
///
/// The maps of versions share all equal nodes in the store. The location of a node changes only if an entry in or
/// below it changed, so equal locations mean equal contents.
/// - Concurrency: immutable; any thread.
package struct ValueMap: Sendable {
  package let root: MapRoot
  package let storage: any NodeStorage
  package let cache: NodeCache
  private var isShort = false

  package init(root: MapRoot, storage: any NodeStorage, cache: NodeCache) {
    self.root = root
    self.storage = storage
    self.cache = cache
  }

  package init(emptyIn storage: any NodeStorage, cache: NodeCache) {
    self.init(root: .empty, storage: storage, cache: cache)
  }

  /// The same map for looking up names: its entries may lack long extended attributes (``Entry/isShortened``). Such
  /// a map must not be compared with others or edited.
  package var shortened: ValueMap {
    var short = self
    short.isShort = true
    return short
  }

  package var count: UInt64 { root.count }
  package var contentDigest: Digest { root.digest }

  package func entry(at key: Key, directory: Bool = false) throws(StoreError) -> Entry? {
    guard var node = try rootNode() else { return nil }
    while true {
      let (index, isThere) = key.bytes.withUnsafeBytes { node.find($0, directory) }
      guard index < node.count else { return nil }
      if node.level == 0 { return isThere ? try entry(index, of: node) : nil }
      node = try child(index, of: node)
    }
  }

  package func contains(prefix: [UInt8]) throws(StoreError) -> Bool {
    var cursor = MapCursor(self)
    try cursor.seek(to: prefix)
    return cursor.withKey { $0.starts(with: prefix) } ?? false
  }

  func rootNode() throws(StoreError) -> MapNode? {
    guard let location = root.location else { return nil }
    return try node(at: location)
  }

  func node(at location: Location) throws(StoreError) -> MapNode {
    if let node = isShort ? cache.shortNode(at: location) : cache.node(at: location) { return node }
    guard let node = MapNode(checking: try storage.readNode(at: location)) else {
      throw .corrupt("map node \(location.segment):\(location.offset) is malformed")
    }
    if isShort, let short = node.shortened {
      cache.insert(short: short, at: location)
      return short
    }
    if isShort {
      cache.insert(passing: node, at: location)
    } else {
      cache.insert(node, at: location)
    }
    return node
  }

  func child(_ index: Int, of node: MapNode) throws(StoreError) -> MapNode {
    let location = node.child(index).location
    let child = try self.node(at: location)
    // Levels decrease on every path down, so damage cannot form a cycle. The last key must be the one that led
    // here, so every key has one place.
    guard child.level == node.level - 1, child.compare(child.count - 1, to: node, index) == 0 else {
      throw .corrupt("map node \(location.segment):\(location.offset) is not the one meant here")
    }
    return child
  }

  func entry(_ index: Int, of node: MapNode) throws(StoreError) -> Entry {
    try ValueMap.entry(index, of: node)
  }

  static func entry(_ index: Int, of node: MapNode) throws(StoreError) -> Entry {
    guard let entry = node.entry(index) else { throw .corrupt("an entry of a map is malformed") }
    return entry
  }

  /// Checks every node: digests computed from the entries, last keys, counts and levels.
  ///
  /// Nodes in `seen` were checked in another map and are skipped; those checked here are added. The content digest
  /// determines the shape too: if it is right, all entries are in the nodes where they belong.
  package func verify(
    seen: inout Set<Location>, visit: (Entry) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let location = root.location else {
      guard root.count == 0, root.digest == MapNode.emptyDigest else {
        throw .corrupt("a map without nodes claims entries")
      }
      return
    }
    let top = MapChild(location: location, digest: root.digest, count: root.count)
    let node = try verified(top)
    try verify(node, at: location, &seen, visit)
  }

  /// Reads a node, bypassing the cache, and compares it with its description in the node above.
  private func verified(_ child: MapChild) throws(StoreError) -> MapNode {
    let place = "map node \(child.location.segment):\(child.location.offset)"
    guard let node = MapNode(checking: try storage.readNode(at: child.location)) else {
      throw .corrupt("\(place) is malformed")
    }
    guard node.digest == child.digest else { throw .corrupt("\(place) has another digest") }
    guard node.entryCount == child.count else { throw .corrupt("\(place) has another count") }
    return node
  }

  private func verify(
    _ node: MapNode, at location: Location, _ seen: inout Set<Location>,
    _ visit: (Entry) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard seen.insert(location).inserted else { return }
    for index in 0..<node.count {
      guard node.level > 0 else {
        try visit(try entry(index, of: node))
        continue
      }
      let below = node.child(index)
      if seen.contains(below.location) { continue }
      let child = try verified(below)
      guard child.level == node.level - 1, child.compare(child.count - 1, to: node, index) == 0
      else {
        throw .corrupt("map node \(below.location.segment):\(below.location.offset) is misplaced")
      }
      if index > 0, child.compare(0, to: node, index - 1) <= 0 {
        throw .corrupt(
          "map node \(below.location.segment):\(below.location.offset) is out of order")
      }
      try verify(child, at: below.location, &seen, visit)
    }
  }
}

extension MapRoot {
  package static let empty = MapRoot(location: nil, digest: MapNode.emptyDigest, count: 0)
}
