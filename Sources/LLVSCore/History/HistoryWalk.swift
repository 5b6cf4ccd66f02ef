/// Walks through versions and their ancestors; each version comes after all its descendants.
///
/// Reads ahead only by generation, so the first versions of a long history are returned at once.
/// - Concurrency: for one thread at a time.
package struct HistoryWalk {
  package enum Order: Sendable {
    /// The newest by (timestamp, generation, id).
    case newestFirst
    /// The predecessors of the version before, the second one first: lines are not interleaved.
    case connected
  }

  package typealias Ways = (HistoryNode) throws(StoreError) -> [VersionNumber]
  private let graph: VersionGraph
  private let order: Order
  private let waysOn: Ways
  private var ready = PriorityQueue<HistoryNode>(by: HistoryNode.isOlder)
  /// The versions that may come next in connected order; the last of them is the next.
  private var stack: [HistoryNode] = []
  private var unexplored = PriorityQueue<HistoryNode> { $0.generation < $1.generation }
  /// For each visited version, the number of its descendants that were not returned yet.
  private var waiting: [VersionNumber: Int] = [:]
  /// The predecessors to continue with, for versions that are explored and not returned yet.
  private var ways: [VersionNumber: [VersionNumber]] = [:]

  /// Begins with these versions and continues with their ancestors.
  ///
  /// `ways` returns the predecessors to continue with, by default all of them.
  package init(
    _ graph: VersionGraph, from numbers: [VersionNumber], order: Order = .newestFirst,
    following ways: @escaping Ways = { (node) throws(StoreError) in
      [node.first, node.second].compactMap(\.self)
    }
  ) throws(StoreError) {
    self.graph = graph
    self.order = order
    waysOn = ways
    var starts: [HistoryNode] = []
    for number in Set(numbers) { starts.append(try graph.node(number)) }
    for node in starts { meet(node) }
    // A start may be an ancestor of another; exploring all younger versions decides this.
    if let oldest = starts.map(\.generation).min() { try explore(above: oldest) }
    for node in starts.sorted(by: HistoryNode.isOlder) where waiting[node.number] == 0 {
      push(node)
    }
  }

  private mutating func push(_ node: HistoryNode) {
    if order == .connected { stack.append(node) } else { ready.push(node) }
  }

  private mutating func meet(_ node: HistoryNode) {
    guard waiting[node.number] == nil else { return }
    waiting[node.number] = 0
    unexplored.push(node)
  }

  /// Counts the descendants of all visited versions of this generation or an earlier one.
  private mutating func explore(above generation: UInt32) throws(StoreError) {
    while let top = unexplored.greatest, top.generation > generation {
      guard let node = unexplored.pop() else { return }
      let predecessors = try waysOn(node)
      ways[node.number] = predecessors
      for number in predecessors {
        meet(try graph.node(number))
        waiting[number, default: 0] += 1
      }
    }
  }

  package mutating func next() throws(StoreError) -> HistoryNode? { try nextStep()?.node }

  /// Returns the next version and the predecessors that the walk continues with; nil at the end.
  package mutating func nextStep() throws(StoreError)
    -> (node: HistoryNode, predecessors: [VersionNumber])?
  {
    guard let node = order == .connected ? stack.popLast() : ready.pop() else { return nil }
    try explore(above: node.generation &- 1)
    waiting[node.number] = nil
    let predecessors = ways.removeValue(forKey: node.number) ?? []
    for number in predecessors {
      let predecessor = try graph.node(number)
      try explore(above: predecessor.generation)
      let left = (waiting[number] ?? 1) - 1
      waiting[number] = left
      if left == 0 { push(predecessor) }
    }
    return (node, predecessors)
  }
}
