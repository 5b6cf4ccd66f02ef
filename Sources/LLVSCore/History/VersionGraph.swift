internal import Synchronization

/// Questions about who descends from whom, answered by reading what lies between.
///
/// - Concurrency: any thread; the lock guards the cache alone, a leaf in every lock order, and is not
///   held while the source reads.
package final class VersionGraph: Sendable {
  private struct Cache {
    /// Two halves: when the recent one is full it becomes the old one, whose rest is forgotten.
    var recent: [VersionNumber: HistoryNode] = [:]
    var old: [VersionNumber: HistoryNode] = [:]
    /// What was found last of an ancestor, and of two versions: whoever is behind for long is asked about
    /// at every step of the others, and the next answer goes back no further than the last.
    var descents: [VersionNumber: Descent] = [:]
    var common: [Pair: [HistoryNode]] = [:]
    /// The ancestors of one side of what was asked last, for what is made from that; nil while they are in use.
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

  /// So many answers of either kind are kept.
  private static let answers = 64
  /// More marks are not kept.
  private static let mostMarks = 1 << 18

  private let source: any HistorySource
  private let limit: Int
  private let cache = Mutex(Cache())

  /// Creates a graph over a source that remembers at most about `limit` nodes.
  package init(source: any HistorySource, limit: Int = 65_536) {
    self.source = source
    self.limit = max(limit / 2, 1)
  }

  /// What the history knows of a version.
  package func node(_ number: VersionNumber) throws(StoreError) -> HistoryNode {
    let known = cache.withLock { $0.recent[number] ?? $0.old[number] }
    if let known { return known }
    let node = try source.historyNode(number)
    let isInOrder =
      (node.first.map { $0 < number } ?? true) && (node.second.map { $0 < number } ?? true)
    // Numbers fall on every way back, so damage cannot lead round in circles.
    guard node.number == number, isInOrder else {
      throw .corrupt("version number \(number.rawValue) has a predecessor that is not before it")
    }
    note(node)
    return node
  }

  /// Takes in what is known of a version that is committed.
  func note(_ node: HistoryNode) {
    cache.withLock { cache in
      if cache.recent.count >= limit {
        cache.old = cache.recent
        cache.recent = [:]
      }
      cache.recent[node.number] = node
    }
  }

  // MARK: Ancestors

  /// Whether the first is the second or one of its ancestors.
  ///
  /// - Complexity: O(ancestors of the second younger than the first), and younger than what was last asked
  ///   about of the same ancestor.
  package func isAncestorOrSelf(
    _ ancestor: VersionNumber, of number: VersionNumber
  ) throws(StoreError) -> Bool {
    if ancestor == number { return true }
    guard ancestor < number else { return false }
    let generation = try node(ancestor).generation
    guard try node(number).generation > generation else { return false }
    let known = cache.withLock { $0.descents[ancestor] }
    var open = [number]
    var seen: Set<VersionNumber> = [number]
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
        if ancestor < predecessor, seen.insert(predecessor).inserted { open.append(predecessor) }
      }
    }
    cache.withLock { [found] cache in
      if cache.descents.count >= Self.answers { cache.descents = [:] }
      cache.descents[ancestor] = Descent(number: number, isDescendant: found)
    }
    return found
  }

  /// Which of some versions are a version or its ancestors.
  ///
  /// - Complexity: O(ancestors of the version younger than the oldest of them), once for all.
  func ancestors(
    among wanted: Set<VersionNumber>, of number: VersionNumber
  ) throws(StoreError) -> Set<VersionNumber> {
    guard let oldest = wanted.min() else { return [] }
    var open = [number]
    var seen: Set<VersionNumber> = [number]
    while let next = open.popLast() {
      guard oldest < next else { continue }
      try node(next).forEachPredecessor { predecessor throws(StoreError) in
        if oldest <= predecessor, seen.insert(predecessor).inserted { open.append(predecessor) }
      }
    }
    return seen.intersection(wanted)
  }

  /// The common ancestors, the versions themselves included, that are not ancestors of other common
  /// ancestors; in ascending order of (timestamp, id).
  ///
  /// - Complexity: O(*n* log *n*) in the versions between both and their common ancestors, O(*n*) where they
  ///   are a line, and those alone that came since it was last asked of one of them, or of what one of them
  ///   was made from.
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
        // What is of a later generation is no ancestor of the other: it has in common with that what its
        // one predecessor has.
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

  /// The same by the marks of one of them, or of what it was made from; by new ones where there are none.
  private func markedAncestors(
    _ a: HistoryNode, _ b: HistoryNode
  ) throws(StoreError) -> [HistoryNode] {
    let known = cache.withLock { cache in
      defer { cache.marks = nil }
      return cache.marks
    }
    // A row of merges goes on from what is of a later generation.
    let sides = a.generation >= b.generation ? [(a, b), (b, a)] : [(b, a), (a, b)]
    let (side, other) = sides.first { known?.leads(to: $0.0) == true } ?? sides[0]
    var marks = known.flatMap { $0.leads(to: side) ? $0 : nil } ?? AncestorMarks(of: side)
    marks.goOn(to: side)
    let found = try commonAncestors(of: other.number, &marks)
    if marks.count <= Self.mostMarks {
      cache.withLock { [marks] cache in cache.marks = marks }
    }
    return found
  }

  /// The same for versions that are merged from several: the ancestors of a side are those of all of it.
  package func commonAncestors(
    _ a: [VersionNumber], _ b: [VersionNumber]
  ) throws(StoreError) -> [HistoryNode] {
    // Bits: 1 reached from a, 2 from b, 4 below a common ancestor. In order of generation a version is
    // taken after all that descend from it, when its bits are final.
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
    var found: [HistoryNode] = []
    while interesting > 0, let node = queue.pop() {
      let mask = bits[node.number] ?? 0
      if mask & 4 == 0 { interesting -= 1 }
      if mask & 7 == 3 { found.append(node) }
      let passed: UInt8 = mask & 3 == 3 ? 7 : mask
      try node.forEachPredecessor { number throws(StoreError) in try mark(number, passed) }
    }
    return found.sorted(by: HistoryNode.mergesBefore)
  }

  // MARK: Heads

  /// Versions that no version names as predecessor, newest first.
  package func heads() throws(StoreError) -> [HistoryNode] {
    try nodes(source.historyHeads()).sorted { HistoryNode.isOlder($1, $0) }
  }

  /// The newest of all heads.
  package func mostRecentHead() throws(StoreError) -> HistoryNode? { try heads().first }

  /// Heads of a line (docs/merging.md, M6), contained ones too, oldest (timestamp, id) first.
  package func heads(ofLine line: Branch?) throws(StoreError) -> [HistoryNode] {
    try nodes(source.historyHeads(ofLine: line)).sorted(by: HistoryNode.mergesBefore)
  }

  func nodes(_ numbers: [VersionNumber]) throws(StoreError) -> [HistoryNode] {
    var nodes: [HistoryNode] = []
    for number in numbers { nodes.append(try node(number)) }
    return nodes
  }
}
