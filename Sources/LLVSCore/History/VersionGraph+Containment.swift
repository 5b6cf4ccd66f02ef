// Contained heads (docs/merging.md, M5) need no merge: all authored versions of a contained head are in the history
// of another head. So replicas that merge at the same time do not merge endlessly.

extension VersionGraph {
  /// True if every authored version that `head` reaches over automatic merges only is `other` or its ancestor; a
  /// head whose history has only empty maps is contained in all.
  package func isContained(_ head: HistoryNode, in other: HistoryNode) throws(StoreError) -> Bool {
    if head.number == other.number || head.isVoid { return true }
    guard head.isAutomatic else { return try isAncestorOrSelf(head.number, of: other.number) }
    let frontier = try authoredFrontier(of: head)
    // The graph caches answers about a few versions.
    for number in frontier.prefix(Self.asked) {
      guard try isAncestorOrSelf(number, of: other.number) else { return false }
    }
    let rest = Set(frontier.dropFirst(Self.asked))
    guard !rest.isEmpty else { return true }
    return try ancestors(among: rest, of: other.number).count == rest.count
  }

  /// Up to this many authored versions of a head are searched for one by one, and up to this many heads are
  /// compared in pairs; more are searched for in one walk.
  private static let asked = 8

  /// Returns the first authored versions on all ways back from a version, itself included.
  func authoredFrontier(of head: HistoryNode) throws(StoreError) -> [VersionNumber] {
    var found: [VersionNumber] = []
    var visited: Set<VersionNumber> = [head.number]
    var open = [head]
    while let node = open.popLast() {
      guard node.isAutomatic else {
        found.append(node.number)
        continue
      }
      try node.forEachPredecessor { number throws(StoreError) in
        if visited.insert(number).inserted { open.append(try self.node(number)) }
      }
    }
    return found
  }

  /// A line's heads that no other contains, oldest first; of mutual ones that of the least id.
  package func uncontainedHeads(ofLine line: Branch?) throws(StoreError) -> [HistoryNode] {
    try uncontained(try openHeads(ofLine: line))
  }

  /// Returns those of some heads, each given once, that no other of them contains.
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

  /// Does the same in O(*n* log *n*) in the versions younger than the oldest head.
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

  /// The uncontained head to which a tree on a contained head moves; none of `heads` contains another.
  package func container(
    of head: HistoryNode, amongUncontained heads: [HistoryNode]
  ) throws(StoreError) -> HistoryNode? {
    // Being contained is transitive, so one of the uncontained heads contains it.
    guard !heads.contains(where: { $0.number == head.number }) else { return nil }
    for other in heads.reversed() where try isContained(head, in: other) { return other }
    return nil
  }

  /// Returns the heads that are left after two of them were merged; none of `heads` contains another.
  /// - Complexity: O(heads), and a search for each head that is an automatic merge.
  package func uncontained(
    _ heads: [HistoryNode], merging first: HistoryNode, _ second: HistoryNode,
    into merged: HistoryNode
  ) throws(StoreError) -> [HistoryNode] {
    var left: [HistoryNode] = []
    left.reserveCapacity(heads.count)
    for head in heads where head.number != first.number && head.number != second.number {
      // The merge contains a head that neither side contains only if that head was merged of parts of both; a head
      // that contains the merge also contains both sides.
      if head.isAutomatic || head.isVoid, try isContained(head, in: merged) { continue }
      left.append(head)
    }
    let place = left.firstIndex { HistoryNode.mergesBefore(merged, $0) } ?? left.endIndex
    left.insert(merged, at: place)
    return left
  }

  /// Returns the two heads to merge next, in the order of predecessors of an automatic merge (by id); nil if there
  /// are none. `heads` are oldest first and none contains another; heads of unrelated histories are skipped.
  package func nextMerge(
    of heads: [HistoryNode]
  ) throws(StoreError) -> (first: HistoryNode, second: HistoryNode)? {
    for (index, first) in heads.enumerated() {
      for second in heads[(index + 1)...] where try areRelated(first, second) {
        return first.id < second.id ? (first, second) : (second, first)
      }
    }
    return nil
  }

  /// Returns true if two versions have a common ancestor, or if all their roots are empty.
  package func areRelated(_ a: HistoryNode, _ b: HistoryNode) throws(StoreError) -> Bool {
    if a.hasEmptyRoots && b.hasEmptyRoots { return true }
    return try !commonAncestors(a.number, b.number).isEmpty
  }
}
