import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

/// Bases of merges, virtual ones too, beside what the rule says word for word.
@Suite(.timeLimit(.minutes(2)))
struct MergeBaseTests {
  /// A history with its trees as plain dictionaries, apart from maps and graphs.
  private struct Model {
    var nodes: [HistoryNode] = []
    var trees: [[String: String]] = []

    func index(_ number: VersionNumber) -> Int { Int(number.rawValue) - 1 }

    func ancestors(_ number: VersionNumber) -> Set<VersionNumber> {
      let node = nodes[index(number)]
      return [node.first, node.second].compactMap(\.self).reduce(into: [number]) {
        $0.formUnion(ancestors($1))
      }
    }

    /// Common ancestors that are not ancestors of others, in ascending order of (timestamp, id).
    func bases(_ a: [VersionNumber], _ b: [VersionNumber]) -> [VersionNumber] {
      func all(_ side: [VersionNumber]) -> Set<VersionNumber> {
        side.reduce(into: []) { $0.formUnion(ancestors($1)) }
      }
      let common = all(a).intersection(all(b))
      return common.filter { one in
        !common.contains { $0 != one && ancestors($0).contains(one) }
      }
      .sorted { x, y in
        let (p, q) = (nodes[index(x)], nodes[index(y)])
        return p.timestamp == q.timestamp ? p.id < q.id : p.timestamp < q.timestamp
      }
    }

    /// Merged in order, each over what it has in common with those before it; what clashes is absent, and is noted.
    func tree(_ versions: [VersionNumber], _ clashes: inout Set<String>) -> [String: String] {
      guard let last = versions.last else { return [:] }
      let mine = trees[index(last)]
      let before = Array(versions.dropLast())
      if before.isEmpty { return mine }
      // A clash below the common part has no say.
      var ignored: Set<String> = []
      let base = tree(bases(before, [last]), &ignored)
      let others = tree(before, &clashes)
      var merged: [String: String] = [:]
      for key in Set(base.keys).union(mine.keys).union(others.keys) {
        let (o, a, b) = (base[key], others[key], mine[key])
        if a == b || b == o {
          merged[key] = a
        } else if a == o {
          merged[key] = b
        } else {
          clashes.insert(key)
        }
      }
      return merged
    }

    /// The base of two versions: where the bases clash, what both sides had last.
    func base(of a: VersionNumber, _ b: VersionNumber) -> [String: String] {
      var clashes: Set<String> = []
      var base = tree(bases([a], [b]), &clashes)
      for key in clashes where trees[index(a)][key] != trees[index(b)][key] {
        if let value = shared(key, a, b) { base[key] = value }
      }
      return base
    }

    private func shared(_ key: String, _ a: VersionNumber, _ b: VersionNumber) -> String? {
      /// The newest of a side's own versions with each value.
      func newest(_ side: VersionNumber, without other: VersionNumber) -> [String: HistoryNode] {
        var found: [String: HistoryNode] = [:]
        for number in ancestors(side).subtracting(ancestors(other)) {
          guard let value = trees[index(number)][key] else { continue }
          let node = nodes[index(number)]
          if found[value].map({ HistoryNode.isOlder($0, node) }) ?? true { found[value] = node }
        }
        return found
      }
      let others = newest(b, without: a)
      let both = newest(a, without: b).compactMap { value, node in
        others[value].map { (value, HistoryNode.isOlder(node, $0) ? node : $0) }
      }
      return both.max { HistoryNode.isOlder($0.1, $1.1) }?.0
    }
  }

  private func edits(
    _ replica: SampleReplica, _ tree: inout [String: String], _ random: inout SeededRandom
  ) -> [MapEdit] {
    var edits: [MapEdit] = []
    for key in ["a", "b", "c", "d"] where Int.random(in: 0..<3, using: &random) == 0 {
      if tree[key] != nil, Int.random(in: 0..<4, using: &random) == 0 {
        tree[key] = nil
        edits.append(.remove(Key(key), directory: false))
      } else {
        let text = "\(Int.random(in: 0..<3, using: &random))"
        tree[key] = text
        var entry = Samples.value(
          key, Array(text.utf8), version: replica.nextNumber.rawValue)
        entry.revision = replica.allotRevision()
        edits.append(.put(entry))
      }
    }
    return edits
  }

  private func held(_ map: ValueMap) throws -> [String: String] {
    var tree: [String: String] = [:]
    for entry in try Samples.entries(of: map) {
      guard case .inline(let bytes) = entry.stored.content else { continue }
      tree[entry.key.rawValue] = String(decoding: bytes, as: UTF8.self)
    }
    return tree
  }

  @Test("bases of random histories are what the rule says")
  func random() throws {
    var virtual = 0
    for seed in 1...25 { virtual += try check(seed) }
    #expect(virtual > 100, "\(virtual) virtual bases")
  }

  /// Compares the bases of all pairs of versions of a history; returns how many were virtual.
  private func check(_ seed: Int) throws -> Int {
    var random = SeededRandom(seed: UInt64(seed))
    let replica = SampleReplica()
    var model = Model()
    var virtual = 0
    for number in 1...18 {
      let id = Version.ID("V\(UInt16.random(in: 0...UInt16.max, using: &random))-\(number)")
      let timestamp = Double(Int.random(in: 0..<8, using: &random))
      func pick() -> HistoryNode? {
        model.nodes.suffix(5).randomElement(using: &random)
      }
      guard let first = pick() else {
        var tree: [String: String] = [:]
        let edits = edits(replica, &tree, &random)
        model.nodes.append(
          try replica.author(on: nil, id: id, timestamp: timestamp, edits: edits))
        model.trees.append(tree)
        continue
      }
      let second = number > 3 && Bool.random(using: &random) ? pick() : nil
      let map = try replica.record(first.number).map
      var tree = try held(map)
      let edits = edits(replica, &tree, &random)
      // A merge holds whatever its maker liked: here the first side, changed at random.
      let version = Version(
        id: id,
        predecessors: Version.Predecessors(
          idOfFirst: first.id, idOfSecond: second?.number == first.number ? nil : second?.id),
        timestamp: timestamp)
      let merged = try map.applying(edits: edits.sorted(by: MapEdit.precedes))
      model.nodes.append(try replica.add(version, map: merged, changes: [:]))
      model.trees.append(tree)
    }
    for a in model.nodes {
      for b in model.nodes {
        let bases = model.bases([a.number], [b.number])
        #expect(
          try replica.graph.commonAncestors(a.number, b.number).map(\.number) == bases,
          "seed \(seed)")
        if bases.count > 1 { virtual += 1 }
        let map = try replica.merger.baseMap(bases, of: a.number, b.number)
        #expect(
          try held(map) == model.base(of: a.number, b.number),
          "seed \(seed): \(a.id.rawValue) \(b.id.rawValue)")
      }
    }
    return virtual
  }
}
