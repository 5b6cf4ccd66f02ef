import Inodes

// The overlay as a journal begins with it.

extension Overlay {
  /// Calls a closure with each record that is needed to make this overlay of an empty one. Nodes are before
  /// the names that lead to them.
  ///
  /// - Complexity: O(*p*) for *p* pending nodes and changes; no list of the records is made.
  func forEachImageRecord<E: Error>(_ body: (JournalRecord) throws(E) -> Void) throws(E) {
    try body(.image(epoch: epoch, stamp: stamp, isCutting: isCutting))
    for (number, node) in nodes { try body(.node(number, node)) }
    for (place, change) in changes { try body(.name(place, change)) }
  }

  /// Takes over a record of an image.
  mutating func load(_ number: InodeNumber, _ node: PendingNode) {
    nodes[number] = node
    if node.orphan != nil { orphans.insert(number) }
  }
}
