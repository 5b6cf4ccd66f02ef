import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

/// Heads that others contain, found of many at once, beside the rule asked of each pair.
@Suite(.timeLimit(.minutes(2)))
struct HeadContainmentTests {
  /// The rule as it is written (docs/merging.md, M5), of each pair.
  private struct Model {
    let nodes: [HistoryNode]
    let ancestors: [VersionNumber: Set<VersionNumber>]
    private var frontiers: [VersionNumber: Set<VersionNumber>] = [:]

    init(_ sample: SampleGraph) {
      nodes = sample.nodes
      ancestors = sample.ancestors()
      for node in nodes {
        frontiers[node.number] =
          node.isAutomatic
          ? [node.first, node.second].compactMap(\.self).reduce(into: []) {
            $0.formUnion(frontiers[$1] ?? [])
          } : [node.number]
      }
    }

    func isContained(_ a: HistoryNode, in b: HistoryNode) -> Bool {
      a.number == b.number || a.isVoid
        || (frontiers[a.number] ?? []).isSubset(of: ancestors[b.number] ?? [])
    }

    func uncontained(_ heads: [HistoryNode]) -> [HistoryNode] {
      heads.filter { head in
        !heads.contains { other in
          other.number != head.number && isContained(head, in: other)
            && !(head.id < other.id && isContained(other, in: head))
        }
      }
    }
  }

  /// A history with many heads: versions of their own on a few old ones, merges of any two, some of them
  /// twice under other ids or after other lines, rows of automatic ones over the same heads.
  private static func history(
    _ random: inout SeededRandom, versions: Int, voids: Int, automatic: Int
  ) -> SampleGraph {
    let graph = SampleGraph()
    var pairs: [[VersionNumber]] = []
    func add(_ predecessors: [VersionNumber], automatic: Bool) {
      graph.add(
        predecessors, timestamp: Double(Int.random(in: 0..<20, using: &random)),
        id: Version.ID("V\(UInt32.random(in: 0...UInt32.max, using: &random))"),
        line: Int.random(in: 0..<8, using: &random) == 0 ? Branch(rawValue: "b") : nil,
        automatic: automatic, mapIsEmpty: Int.random(in: 0..<100, using: &random) < voids)
    }
    while graph.nodes.count < versions {
      let count = graph.nodes.count
      let base = max(1, min(count, Int.random(in: 1...12, using: &random)))
      func pick() -> VersionNumber {
        let least = Bool.random(using: &random) ? 1 : max(1, count - 30)
        return VersionNumber(UInt32(Int.random(in: least...max(count, 1), using: &random)))
      }
      switch count == 0 ? 0 : Int.random(in: 0..<100, using: &random) {
      case 0..<3: add([], automatic: false)
      case 3..<(100 - automatic):
        add([VersionNumber(UInt32(base))], automatic: Int.random(in: 0..<20, using: &random) == 0)
      case 95...:
        // The same merged again: it says the same.
        guard let pair = pairs.randomElement(using: &random) else { continue }
        add(Bool.random(using: &random) ? pair : pair.reversed(), automatic: true)
      default:
        let pair = [pick(), pick()]
        guard pair[0] != pair[1] else { continue }
        pairs.append(pair)
        add(pair, automatic: Int.random(in: 0..<5, using: &random) > 0)
      }
    }
    return graph
  }

  @Test("the heads that stay are those that the rule, asked of each pair, keeps", arguments: 1...60)
  func pairs(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let sample = Self.history(
      &random, versions: [12, 40, 120, 400][seed % 4], voids: [0, 10, 60, 100][seed / 4 % 4],
      automatic: [10, 30, 60][seed % 3])
    let graph = VersionGraph(source: sample)
    let model = Model(sample)
    for line in [nil, Branch(rawValue: "b")] {
      let heads = try graph.heads(ofLine: line)
      #expect(try graph.uncontainedHeads(ofLine: line) == model.uncontained(heads), "seed \(seed)")
    }
    // Any versions, also such as others of them were made from.
    for count in [3, 9, 20, 64, 65, 150, 300] {
      let some = Array(sample.nodes.shuffled(using: &random).prefix(count))
        .sorted(by: HistoryNode.mergesBefore)
      let kept = model.uncontained(some)
      #expect(try graph.uncontained(some) == kept, "seed \(seed), \(some.count) heads")
      for head in some.prefix(20) {
        for other in some.prefix(20) {
          let isContained = try graph.isContained(head, in: other)
          #expect(isContained == model.isContained(head, in: other), "seed \(seed)")
        }
      }
    }
  }

  @Test("heads merged by many in other orders, in part and whole, leave one that says the most")
  func equals() throws {
    var random = SeededRandom(seed: 5)
    let sample = SampleGraph()
    let root = sample.add(timestamp: 0)
    let heads = (0..<40).map { sample.add([root], timestamp: Double($0)) }
    for replica in 0..<150 {
      let taken = heads.shuffled(using: &random).prefix(replica % 3 == 0 ? 40 : 2 + replica % 38)
      var merged = taken[0]
      for head in taken.dropFirst() {
        merged = sample.add(
          [merged, head], timestamp: 50,
          id: Version.ID("M\(UInt32.random(in: 0...UInt32.max, using: &random))"), automatic: true)
      }
    }
    let graph = VersionGraph(source: sample)
    let all = try graph.heads(ofLine: nil)
    #expect(all.count == 150)
    let kept = try graph.uncontainedHeads(ofLine: nil)
    #expect(kept.count == 1)
    #expect(kept == Model(sample).uncontained(all))
  }

  @Test("many heads on the young end of a long history read each version once, and little of it")
  func reads() throws {
    let sample = SampleGraph()
    var tip = sample.add(timestamp: 0)
    for number in 1..<3000 { tip = sample.add([tip], timestamp: Double(number)) }
    // What was merged of them before is a head as well.
    var merged = sample.add([tip], timestamp: 4000)
    for number in 0..<1000 {
      let head = sample.add([tip], timestamp: Double(5000 + number))
      guard number < 500 else { continue }
      merged = sample.add([merged, head], timestamp: Double(5000 + number), automatic: true)
    }
    let source = CountingSource(sample)
    // It remembers little, as it does of a history that is longer.
    let graph = VersionGraph(source: source, limit: 4)
    #expect(try graph.uncontainedHeads(ofLine: nil).count == 501)
    #expect(source.reads < 5000)
  }
}
