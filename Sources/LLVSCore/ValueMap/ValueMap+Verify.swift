extension ValueMap {
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
