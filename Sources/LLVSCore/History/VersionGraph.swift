internal import Synchronization

/// The graph of versions and their predecessors; each question reads only the versions between.
/// - Concurrency: any thread; the lock guards the cache only, is a leaf, and is not held while the source reads.
package final class VersionGraph: Sendable {
  private struct Cache {
    /// Two halves: when the recent one is full it replaces the old one.
    var recent: [VersionNumber: HistoryNode] = [:]
    var old: [VersionNumber: HistoryNode] = [:]
    /// The last answer for an ancestor, and for two versions, which bounds the next walk.
    var descents: [VersionNumber: Descent] = [:]
    var common: [Pair: [HistoryNode]] = [:]
    /// The ancestors of one side of the last question, for versions made from it; nil while in use.
    var marks: AncestorMarks?
  }

  private struct Descent {
    var number: VersionNumber
    var isDescendant: Bool
  }

  private struct Pair: Hashable {
    var first: VersionNumber
    var second: VersionNumber
  }

  private static let answers = 64
  private static let mostMarks = 1 << 18
  private let source: any HistorySource
  private let limit: Int
  private let cache = Mutex(Cache())

  /// Creates a graph over a source; it keeps about `limit` nodes at most.
  package init(source: any HistorySource, limit: Int = 65_536) {
    self.source = source
    self.limit = max(limit / 2, 1)
  }

  package func node(_ number: VersionNumber) throws(StoreError) -> HistoryNode {
    let known = cache.withLock { $0.recent[number] ?? $0.old[number] }
    if let known { return known }
    let node = try source.historyNode(number)
    let isInOrder =
      (node.first.map { $0 < number } ?? true) && (node.second.map { $0 < number } ?? true)
    // Predecessors have smaller numbers, so damaged data cannot form a cycle.
    guard node.number == number, isInOrder else {
      throw .corrupt("version number \(number.rawValue) has a predecessor that is not before it")
    }
    remember(node)
    return node
  }

  func remember(_ node: HistoryNode) {
    cache.withLock { cache in
      if cache.recent.count >= limit {
        cache.old = cache.recent
        cache.recent = [:]
      }
      cache.recent[node.number] = node
    }
  }

  /// Returns true if the first version is the second or one of its ancestors.
  /// - Complexity: O(ancestors of the second that are younger than the first and than the version last tested for
  ///   the same ancestor).
  package func isAncestorOrSelf(
    _ ancestor: VersionNumber, of number: VersionNumber
  ) throws(StoreError) -> Bool {
    if ancestor == number { return true }
    guard ancestor < number else { return false }
    let generation = try node(ancestor).generation
    guard try node(number).generation > generation else { return false }
    let known = cache.withLock { $0.descents[ancestor] }
    var open = [number]
    var visited: Set<VersionNumber> = [number]
    var found = false
    searching: while let next = open.popLast() {
      if next == known?.number {
        found = known?.isDescendant == true
        if found { break }
        continue
      }
      let node = try node(next)
      guard node.generation > generation else { continue }
      for predecessor in [node.first, node.second].compactMap(\.self) {
        if predecessor == ancestor {
          found = true
          break searching
        }
        if ancestor < predecessor, visited.insert(predecessor).inserted { open.append(predecessor) }
      }
    }
    cache.withLock { [found] cache in
      if cache.descents.count >= Self.answers { cache.descents = [:] }
      cache.descents[ancestor] = Descent(number: number, isDescendant: found)
    }
    return found
  }

  /// Returns those of `wanted` that are a version or its ancestors.
  /// - Complexity: O(ancestors of the version that are younger than the oldest wanted one), once for all.
  func ancestors(
    among wanted: Set<VersionNumber>, of number: VersionNumber
  ) throws(StoreError) -> Set<VersionNumber> {
    guard let oldest = wanted.min() else { return [] }
    var open = [number]
    var visited: Set<VersionNumber> = [number]
    while let next = open.popLast() {
      guard oldest < next else { continue }
      try node(next).forEachPredecessor { predecessor throws(StoreError) in
        if oldest <= predecessor, visited.insert(predecessor).inserted { open.append(predecessor) }
      }
    }
    return visited.intersection(wanted)
  }

  /// Returns the latest common ancestors, which may be the versions themselves, in ascending order of (timestamp,
  /// id): those that are not ancestors of other common ancestors.
  /// - Complexity: O(*n* log *n*) in the versions between both and their common ancestors, O(*n*) on a line; after
  ///   a question about one of them or its predecessor, only new versions count.
  package func commonAncestors(
    _ a: VersionNumber, _ b: VersionNumber
  ) throws(StoreError) -> [HistoryNode] {
    let known = cache.withLock { $0.common }
    var found: [HistoryNode]?
    var (one, other) = (try node(a), try node(b))
    while found == nil {
      if one.number == other.number {
        found = [one]
      } else if let answer = known[Pair(first: one.number, second: other.number)]
        ?? known[Pair(first: other.number, second: one.number)]
      {
        found = answer
      } else {
        // The version of the later generation is not an ancestor of the other, so the common ancestors are those of
        // its only predecessor and the other.
        let isOne = one.generation >= other.generation
        let later = isOne ? one : other
        guard later.second == nil else { break }
        guard let below = later.first else {
          found = []
          break
        }
        if isOne { one = try node(below) } else { other = try node(below) }
      }
    }
    let answer: [HistoryNode]
    if let found {
      answer = found
    } else {
      answer = try markedAncestors(one, other)
    }
    cache.withLock { cache in
      if cache.common.count >= Self.answers { cache.common = [:] }
      cache.common[Pair(first: a, second: b)] = answer
    }
    return answer
  }

  /// Does the same with the kept marks of one of them or of its predecessor, or with new ones.
  private func markedAncestors(
    _ a: HistoryNode, _ b: HistoryNode
  ) throws(StoreError) -> [HistoryNode] {
    let known = cache.withLock { cache in
      defer { cache.marks = nil }
      return cache.marks
    }
    // A series of merges continues from the version of the later generation.
    let sides = a.generation >= b.generation ? [(a, b), (b, a)] : [(b, a), (a, b)]
    let (side, other) = sides.first { known?.leads(to: $0.0) == true } ?? sides[0]
    var marks = known.flatMap { $0.leads(to: side) ? $0 : nil } ?? AncestorMarks(of: side)
    marks.goOn(to: side)
    let found = try commonAncestors(of: other.number, &marks)
    if marks.count <= Self.mostMarks { cache.withLock { [marks] cache in cache.marks = marks } }
    return found
  }

  /// Does the same for several versions a side; the ancestors of a side are those of all its versions.
  package func commonAncestors(
    _ a: [VersionNumber], _ b: [VersionNumber]
  ) throws(StoreError) -> [HistoryNode] {
    try divided(a, b).common
  }

  /// The history of two sides down to their latest common ancestors.
  struct DividedHistory {
    /// In ascending order of (timestamp, id).
    var common: [HistoryNode] = []
    /// The versions of one side alone, each after its descendants.
    var first: [HistoryNode] = []
    var second: [HistoryNode] = []
  }

  func divided(
    _ a: [VersionNumber], _ b: [VersionNumber]
  ) throws(StoreError) -> DividedHistory {
    // Bits: 1 reached from a, 2 from b, 4 below a common ancestor. In order of generation a version is visited
    // after all its descendants, when its bits are final.
    var bits: [VersionNumber: UInt8] = [:]
    var queue = PriorityQueue<HistoryNode> { $0.generation < $1.generation }
    var interesting = 0
    func mark(_ number: VersionNumber, _ mask: UInt8) throws(StoreError) {
      let before = bits[number]
      let after = (before ?? 0) | mask
      bits[number] = after
      if before == nil { queue.push(try node(number)) }
      let was = before.map { $0 & 4 == 0 } ?? false
      let becomes = after & 4 == 0
      interesting += (becomes ? 1 : 0) - (was ? 1 : 0)
    }
    for number in a { try mark(number, 1) }
    for number in b { try mark(number, 2) }
    var found = DividedHistory()
    while interesting > 0, let node = queue.pop() {
      let mask = bits[node.number] ?? 0
      if mask & 4 == 0 { interesting -= 1 }
      switch mask & 7 {
      case 1: found.first.append(node)
      case 2: found.second.append(node)
      case 3: found.common.append(node)
      default: break
      }
      let passed: UInt8 = mask & 3 == 3 ? 7 : mask
      try node.forEachPredecessor { number throws(StoreError) in try mark(number, passed) }
    }
    found.common.sort(by: HistoryNode.mergesBefore)
    return found
  }

  /// Returns the versions that are no predecessors, newest first.
  package func heads() throws(StoreError) -> [HistoryNode] {
    try nodes(source.historyHeads()).sorted { HistoryNode.isOlder($1, $0) }
  }

  /// The heads of a line (docs/merging.md, M6), contained ones too, oldest (timestamp, id) first.
  package func heads(ofLine line: Branch?) throws(StoreError) -> [HistoryNode] {
    try nodes(source.historyHeads(ofLine: line)).sorted(by: HistoryNode.mergesBefore)
  }

  /// Returns the heads of a line at which its name was not removed (docs/merging.md, M6).
  package func openHeads(ofLine line: Branch?) throws(StoreError) -> [HistoryNode] {
    let heads = try heads(ofLine: line)
    guard let line, let end = line.end, !heads.isEmpty else { return heads }
    let ends = try source.historyHeads(ofLine: end)
    guard !ends.isEmpty else { return heads }
    var ended: Set<VersionNumber> = []
    for number in ends { ended.formUnion([try node(number).first].compactMap(\.self)) }
    return heads.filter { !ended.contains($0.number) }
  }

  func nodes(_ numbers: [VersionNumber]) throws(StoreError) -> [HistoryNode] {
    var nodes: [HistoryNode] = []
    for number in numbers { nodes.append(try node(number)) }
    return nodes
  }
}
