/// The ancestors of a version (the tip), itself included, as far back as needed so far.
///
/// A merge of the tip and another version becomes the new tip, so a series of merges reads each version once.
struct AncestorMarks: Sendable {
  private(set) var tip: VersionNumber
  private var marked: Set<VersionNumber>
  /// The marked versions whose predecessors are not marked yet.
  private var edge = PriorityQueue<HistoryNode> { $0.generation < $1.generation }

  init(of node: HistoryNode) {
    tip = node.number
    marked = [node.number]
    edge.push(node)
  }

  var count: Int { marked.count }

  /// Returns true if a version is the tip or has the tip as a predecessor.
  func leads(to node: HistoryNode) -> Bool {
    node.number == tip || node.first == tip || node.second == tip
  }

  /// Makes a version, for which ``leads(to:)`` is true, the tip.
  mutating func goOn(to node: HistoryNode) {
    tip = node.number
    if marked.insert(node.number).inserted { edge.push(node) }
  }

  /// Returns true if a version is the tip or one of its ancestors.
  /// - Complexity: O(ancestors of the tip that are younger than the version), once for all calls together.
  mutating func contain(_ node: HistoryNode, in graph: VersionGraph) throws(StoreError) -> Bool {
    while let greatest = edge.greatest, greatest.generation > node.generation {
      guard let next = edge.pop() else { break }
      try next.forEachPredecessor { number throws(StoreError) in
        if marked.insert(number).inserted { edge.push(try graph.node(number)) }
      }
    }
    return marked.contains(node.number)
  }
}

extension VersionGraph {
  /// Returns the latest common ancestors of a version and the tip, oldest first.
  /// - Complexity: O(*n* log *n*) in the version's ancestors that the tip lacks and the tip's unmarked younger
  ///   ones.
  func commonAncestors(
    of number: VersionNumber, _ marks: inout AncestorMarks
  ) throws(StoreError) -> [HistoryNode] {
    var found: [HistoryNode] = []
    var visited: Set<VersionNumber> = [number]
    // In order of generation, so that no more versions than necessary are marked.
    var open = PriorityQueue<HistoryNode> { $0.generation < $1.generation }
    open.push(try node(number))
    while let next = open.pop() {
      guard try !marks.contain(next, in: self) else {
        found.append(next)
        continue
      }
      try next.forEachPredecessor { predecessor throws(StoreError) in
        if visited.insert(predecessor).inserted { open.push(try node(predecessor)) }
      }
    }
    return try withoutAncestors(found).sorted(by: HistoryNode.mergesBefore)
  }

  private func withoutAncestors(_ nodes: [HistoryNode]) throws(StoreError) -> [HistoryNode] {
    guard nodes.count > 1, let least = nodes.map(\.generation).min() else { return nodes }
    var below: Set<VersionNumber> = []
    var open = nodes
    while let next = open.popLast() {
      try next.forEachPredecessor { number throws(StoreError) in
        guard !below.contains(number) else { return }
        let node = try node(number)
        guard node.generation >= least else { return }
        below.insert(number)
        open.append(node)
      }
    }
    return nodes.filter { !below.contains($0.number) }
  }
}
