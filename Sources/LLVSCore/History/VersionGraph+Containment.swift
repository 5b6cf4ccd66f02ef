// Which heads are worth a merge (docs/merging.md, M5): a head that says nothing an authored
// version of another does not say already is contained in it, so that replicas that merge at the
// same time come to an end.

extension VersionGraph {
  /// Whether every authored version that `head` holds, back over automatic merges only, is `other` or
  /// an ancestor of it; a head all of whose history is empty is contained in every other.
  package func isContained(
    _ head: HistoryNode, in other: HistoryNode
  ) throws(StoreError) -> Bool {
    if head.number == other.number || head.isVoid { return true }
    guard head.isAutomatic else { return try isAncestorOrSelf(head.number, of: other.number) }
    let frontier = try authoredFrontier(of: head)
    // What was found of few is remembered.
    for number in frontier.prefix(Self.asked) {
      guard try isAncestorOrSelf(number, of: other.number) else { return false }
    }
    let rest = Set(frontier.dropFirst(Self.asked))
    guard !rest.isEmpty else { return true }
    return try ancestors(among: rest, of: other.number).count == rest.count
  }

  /// So many of the authored versions of a head are looked for one by one, and so many heads compared in pairs;
  /// more in one walk for all.
  private static let asked = 8

  /// The authored versions first met on the ways back from a version, itself included.
  func authoredFrontier(of head: HistoryNode) throws(StoreError) -> [VersionNumber] {
    var found: [VersionNumber] = []
    var seen: Set<VersionNumber> = [head.number]
    var open = [head]
    while let node = open.popLast() {
      guard node.isAutomatic else {
        found.append(node.number)
        continue
      }
      try node.forEachPredecessor { number throws(StoreError) in
        if seen.insert(number).inserted { open.append(try self.node(number)) }
      }
    }
    return found
  }

  /// The heads of a line that no other contains, oldest (timestamp, id) first; of heads that contain
  /// each other the one of smallest id.
  package func uncontainedHeads(ofLine line: Branch?) throws(StoreError) -> [HistoryNode] {
    try uncontained(try heads(ofLine: line))
  }

  /// The same of some heads, each given once.
  package func uncontained(_ heads: [HistoryNode]) throws(StoreError) -> [HistoryNode] {
    heads.count <= Self.asked ? try uncontainedInPairs(heads) : try uncontainedInOneWalk(heads)
  }

  private func uncontainedInPairs(_ heads: [HistoryNode]) throws(StoreError) -> [HistoryNode] {
    var kept: [HistoryNode] = []
    for head in heads {
      var isKept = true
      for other in heads where isKept && other.number != head.number {
        guard try isContained(head, in: other) else { continue }
        isKept = head.id < other.id
        if isKept { isKept = try isContained(other, in: head) }
      }
      if isKept { kept.append(head) }
    }
    return kept
  }

  /// The same of heads, each given once, at O(*n* log *n*) in the versions younger than the oldest of them.
  private func uncontainedInOneWalk(_ heads: [HistoryNode]) throws(StoreError) -> [HistoryNode] {
    let contained = try HeadContainment(of: heads, in: self).contained()
    // Void heads contain each other.
    let void = heads.filter(\.isVoid).min { $0.id < $1.id }
    var isVoidKept = void != nil
    if let void {
      for other in heads where isVoidKept && !other.isVoid {
        isVoidKept = void.id < other.id
        if isVoidKept { isVoidKept = try isContained(other, in: void) }
      }
    }
    var kept: [HistoryNode] = []
    for (index, head) in heads.enumerated() where !contained.contains(index) {
      if !head.isVoid || isVoidKept && head.number == void?.number { kept.append(head) }
    }
    return kept
  }

  /// The head that a live tree on a contained head moves to; nil if none contains it.
  package func container(
    of head: HistoryNode, among heads: [HistoryNode]
  ) throws(StoreError) -> HistoryNode? {
    try container(of: head, amongUncontained: uncontained(heads))
  }

  /// The same of heads none of which contains another.
  func container(
    of head: HistoryNode, amongUncontained heads: [HistoryNode]
  ) throws(StoreError) -> HistoryNode? {
    // Being contained is transitive, so one of those that stay contains it.
    guard !heads.contains(where: { $0.number == head.number }) else { return nil }
    for other in heads.reversed() where try isContained(head, in: other) { return other }
    return nil
  }

  /// What is left of heads none of which contains another when two of them were merged into one.
  ///
  /// - Complexity: O(heads), and what it takes to ask whether a head that is an automatic merge is contained.
  package func uncontained(
    _ heads: [HistoryNode], merging first: HistoryNode, _ second: HistoryNode,
    into merged: HistoryNode
  ) throws(StoreError) -> [HistoryNode] {
    var left: [HistoryNode] = []
    left.reserveCapacity(heads.count)
    for head in heads where head.number != first.number && head.number != second.number {
      // What neither side contains, the merge contains only if it was merged of parts of both; and what
      // contained the merge would have contained the sides.
      if head.isAutomatic || head.isVoid, try isContained(head, in: merged) { continue }
      left.append(head)
    }
    let place = left.firstIndex { HistoryNode.mergesBefore(merged, $0) } ?? left.endIndex
    left.insert(merged, at: place)
    return left
  }

  /// The two heads of a line to merge next, oldest (timestamp, id) first, in the order of predecessors of
  /// an automatic merge (by id); nil when there is nothing to merge.
  ///
  /// Heads of unrelated histories are passed over unless `allowingUnrelated`.
  package func nextMerge(
    ofLine line: Branch?, allowingUnrelated: Bool = false
  ) throws(StoreError) -> (first: HistoryNode, second: HistoryNode)? {
    try nextMerge(of: uncontainedHeads(ofLine: line), allowingUnrelated: allowingUnrelated)
  }

  /// The same of heads none of which contains another, oldest first.
  func nextMerge(
    of heads: [HistoryNode], allowingUnrelated: Bool = false
  ) throws(StoreError) -> (first: HistoryNode, second: HistoryNode)? {
    for (index, first) in heads.enumerated() {
      for second in heads[(index + 1)...] {
        if !allowingUnrelated {
          guard try areRelated(first, second) else { continue }
        }
        return first.id < second.id ? (first, second) : (second, first)
      }
    }
    return nil
  }

  /// Whether two versions have a common ancestor, or no root of either held anything.
  package func areRelated(_ a: HistoryNode, _ b: HistoryNode) throws(StoreError) -> Bool {
    if a.hasEmptyRoots && b.hasEmptyRoots { return true }
    return try !commonAncestors(a.number, b.number).isEmpty
  }
}
