/// Versions newest first by (timestamp, generation, id), none before all its descendants among them.
///
/// Reads ahead only by generation, so that the first versions of a long history come at once.
///
/// - Concurrency: for one thread at a time.
package struct HistoryWalk {
  private let graph: VersionGraph
  private var ready = PriorityQueue<HistoryNode>(by: HistoryNode.isOlder)
  private var unexplored = PriorityQueue<HistoryNode> { $0.generation < $1.generation }
  /// Descendants not given yet, of versions that were met.
  private var waiting: [VersionNumber: Int] = [:]

  /// Begins with these versions and goes on with their ancestors.
  package init(_ graph: VersionGraph, from numbers: [VersionNumber]) throws(StoreError) {
    self.graph = graph
    var starts: [HistoryNode] = []
    for number in Set(numbers) { starts.append(try graph.node(number)) }
    for node in starts { meet(node) }
    // A start may be an ancestor of another: explored to the oldest start, that is known.
    if let oldest = starts.map(\.generation).min() { try explore(above: oldest) }
    for node in starts where waiting[node.number] == 0 { ready.push(node) }
  }

  private mutating func meet(_ node: HistoryNode) {
    guard waiting[node.number] == nil else { return }
    waiting[node.number] = 0
    unexplored.push(node)
  }

  /// Counts the descendants of everything of this generation or younger.
  private mutating func explore(above generation: UInt32) throws(StoreError) {
    while let top = unexplored.greatest, top.generation > generation {
      guard let node = unexplored.pop() else { return }
      for number in [node.first, node.second].compactMap(\.self) {
        meet(try graph.node(number))
        waiting[number, default: 0] += 1
      }
    }
  }

  /// Returns the next version; nil at the end.
  package mutating func next() throws(StoreError) -> HistoryNode? {
    guard let node = ready.pop() else { return nil }
    try explore(above: node.generation &- 1)
    waiting[node.number] = nil
    for number in [node.first, node.second].compactMap(\.self) {
      let predecessor = try graph.node(number)
      try explore(above: predecessor.generation)
      let left = (waiting[number] ?? 1) - 1
      waiting[number] = left
      if left == 0 { ready.push(predecessor) }
    }
    return node
  }
}
