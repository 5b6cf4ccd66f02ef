import Inodes

// The overlay as a journal begins with it, and what a journal says of it.

extension Overlay {
  /// The records that make this overlay of an empty one. Nodes stand before the names that lead to them.
  package var image: [JournalRecord] {
    var records: [JournalRecord] = [.image(epoch: epoch, stamp: stamp, isCutting: isCutting)]
    for number in nodes.keys.sorted() {
      if let node = nodes[number] { records.append(.node(number, node)) }
    }
    let places = changes.keys.sorted { ($0.directory, $0.name) < ($1.directory, $1.name) }
    for place in places {
      if let change = changes[place] { records.append(.name(place, change)) }
    }
    return records
  }

  /// Takes over what a record says.
  package mutating func replay(_ record: JournalRecord) {
    switch record {
    case .change(let change): apply(change)
    case .image(let epoch, let stamp, let isCutting):
      self = Overlay(epoch: epoch)
      self.stamp = stamp
      self.isCutting = isCutting
    case .node(let number, let node):
      nodes[number] = node
      if node.orphan != nil { orphans.insert(number) }
    case .name(let place, let change): setChange(change, at: place)
    }
  }
}
