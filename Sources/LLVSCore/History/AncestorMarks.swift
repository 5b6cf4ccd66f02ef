/// The ancestors of a version, itself included, as far back as was asked.
///
/// Grows with the version: what was merged of it and another has the same and those of the other, so a row of
/// merges asks for each version once.
struct AncestorMarks: Sendable {
  private(set) var tip: VersionNumber
  private var marked: Set<VersionNumber>
  /// Those of them whose predecessors are still to be marked.
  private var edge = PriorityQueue<HistoryNode> { $0.generation < $1.generation }

  init(of node: HistoryNode) {
    tip = node.number
    marked = [node.number]
    edge.push(node)
  }

  /// How many are marked.
  var count: Int { marked.count }

  /// Whether a version is the tip or was made from it.
  func leads(to node: HistoryNode) -> Bool {
    node.number == tip || node.first == tip || node.second == tip
  }

  /// Goes on to a version that the tip leads to.
  mutating func goOn(to node: HistoryNode) {
    tip = node.number
    if marked.insert(node.number).inserted { edge.push(node) }
  }

  /// Whether a version is the tip or one of its ancestors.
  ///
  /// - Complexity: O(ancestors of the tip younger than the version) for all that are asked, once.
  mutating func contain(
    _ node: HistoryNode, in graph: VersionGraph
  ) throws(StoreError) -> Bool {
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
  /// What a version and one whose ancestors are marked have in common.
  ///
  /// - Complexity: O(*n* log *n*) in the ancestors of the version that are none of the other's, and what was
  ///   not marked yet of the other's that are younger than what they have in common.
  func commonAncestors(
    of number: VersionNumber, _ marks: inout AncestorMarks
  ) throws(StoreError) -> [HistoryNode] {
    var found: [HistoryNode] = []
    var seen: Set<VersionNumber> = [number]
    // In order of generation, so that no more is marked than has to be.
    var open = PriorityQueue<HistoryNode> { $0.generation < $1.generation }
    open.push(try node(number))
    while let next = open.pop() {
      guard try !marks.contain(next, in: self) else {
        found.append(next)
        continue
      }
      try next.forEachPredecessor { predecessor throws(StoreError) in
        if seen.insert(predecessor).inserted { open.push(try node(predecessor)) }
      }
    }
    return try withoutAncestors(found).sorted(by: HistoryNode.mergesBefore)
  }

  /// Those of some versions that are no ancestors of others of them.
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
