import Inodes

extension Overlay {
  /// Calls `body` with each record of the overlay's image, nodes before their names, in O(*p*) for *p* pending
  /// nodes and changes.
  func forEachImageRecord<E: Error>(_ body: (JournalRecord) throws(E) -> Void) throws(E) {
    try body(.image(epoch: epoch, stamp: stamp, isCutting: isCutting))
    for (number, node) in nodes { try body(.node(number, node)) }
    for (place, change) in changes { try body(.name(place, change)) }
  }

  mutating func load(_ number: InodeNumber, _ node: PendingNode) {
    nodes[number] = node
    if node.orphan != nil { orphans.insert(number) }
  }
}
