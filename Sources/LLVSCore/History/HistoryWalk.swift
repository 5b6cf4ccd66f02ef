/// Versions from the newest back, none before all its descendants among them.
///
/// Reads ahead only by generation, so that the first versions of a long history come at once.
///
/// - Concurrency: for one thread at a time.
package struct HistoryWalk {
  /// Which of the versions that may come next comes.
  package enum Order: Sendable {
    /// The newest by (timestamp, generation, id).
    case newestFirst
    /// What the version before was made from, the other side of a merge first: lines stay in one piece.
    case connected
  }

  /// The predecessors of a version that are walked to.
  package typealias Ways = (HistoryNode) throws(StoreError) -> [VersionNumber]

  private let graph: VersionGraph
  private let order: Order
  private let waysOn: Ways
  private var ready = PriorityQueue<HistoryNode>(by: HistoryNode.isOlder)
  /// What may come next in connected order, the next one last.
  private var stack: [HistoryNode] = []
  private var unexplored = PriorityQueue<HistoryNode> { $0.generation < $1.generation }
  /// Descendants not given yet, of versions that were met.
  private var waiting: [VersionNumber: Int] = [:]
  /// Where the ways from versions lead that are explored and not given yet.
  private var ways: [VersionNumber: [VersionNumber]] = [:]

  /// Begins with these versions and goes on with their ancestors.
  ///
  /// What `ways` gives are the predecessors to go on with; all of them where it is not given.
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
    // A start may be an ancestor of another: explored to the oldest start, that is known.
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

  /// Counts the descendants of everything of this generation or younger.
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

  /// Returns the next version; nil at the end.
  package mutating func next() throws(StoreError) -> HistoryNode? {
    try nextStep()?.node
  }

  /// Returns the next version and where the walk goes on from it; nil at the end.
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
