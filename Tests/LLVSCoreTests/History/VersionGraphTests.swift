import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct VersionGraphTests {
  @Test("ancestors and maximal common ancestors are what brute force finds", arguments: 1...12)
  func ancestors(seed: Int) throws {
    let sample = SampleGraph.random(seed: UInt64(seed), count: 70)
    let graph = VersionGraph(source: sample, limit: 20)
    let ancestors = sample.ancestors()
    for a in sample.nodes {
      for b in sample.nodes {
        let ofB = ancestors[b.number] ?? []
        #expect(try graph.isAncestorOrSelf(a.number, of: b.number) == ofB.contains(a.number))
        let common = (ancestors[a.number] ?? []).intersection(ofB)
        let maximal = common.filter { one in
          !common.contains { $0 != one && (ancestors[$0] ?? []).contains(one) }
        }
        let found = try graph.commonAncestors(a.number, b.number)
        #expect(Set(found.map(\.number)) == maximal, "seed \(seed)")
        #expect(found.count == maximal.count)
      }
    }
  }

  @Test(
    "a walk gives every ancestor once, newest first, none before its descendants", arguments: 1...12
  )
  func walk(seed: Int) throws {
    let sample = SampleGraph.random(seed: UInt64(seed), count: 70)
    let graph = VersionGraph(source: sample)
    let ancestors = sample.ancestors()
    let nodes = sample.nodes
    for starts in [[nodes[69].number], [nodes[40].number, nodes[60].number], nodes.map(\.number)] {
      var walk = try HistoryWalk(graph, from: starts)
      var expected = starts.reduce(into: Set<VersionNumber>()) {
        $0.formUnion(ancestors[$1] ?? [])
      }
      while let node = try walk.next() {
        // The newest of those all of whose descendants were given.
        let ready = nodes.filter { one in
          expected.contains(one.number)
            && !expected.contains { $0 != one.number && (ancestors[$0] ?? []).contains(one.number) }
        }
        #expect(ready.max(by: HistoryNode.isOlder)?.number == node.number, "seed \(seed)")
        #expect(expected.remove(node.number) != nil)
      }
      #expect(expected.isEmpty)
    }
  }

  @Test("contained heads are what the rule says, and all else is kept", arguments: 1...30)
  func containment(seed: Int) throws {
    let sample = SampleGraph.random(seed: UInt64(seed), count: 40)
    let graph = VersionGraph(source: sample)
    let ancestors = sample.ancestors()
    let nodes = sample.nodes
    func frontier(_ node: HistoryNode) -> Set<VersionNumber> {
      guard node.isAutomatic else { return [node.number] }
      return [node.first, node.second].compactMap(\.self).reduce(into: []) {
        $0.formUnion(frontier(nodes[Int($1.rawValue) - 1]))
      }
    }
    func contained(_ a: HistoryNode, _ b: HistoryNode) -> Bool {
      a.isVoid || frontier(a).isSubset(of: ancestors[b.number] ?? [])
    }
    for line in [nil, Branch(rawValue: "b")] {
      let heads = try graph.heads(ofLine: line)
      let kept = heads.filter { head in
        !heads.contains { other in
          other.number != head.number && contained(head, other)
            && !(contained(other, head) && head.id < other.id)
        }
      }
      #expect(try graph.uncontainedHeads(ofLine: line) == kept)
      #expect(heads.isEmpty == kept.isEmpty)
      for head in heads {
        let container = try graph.container(of: head, amongUncontained: kept)
        #expect((container == nil) == kept.contains(head))
        if let container { #expect(kept.contains(container) && contained(head, container)) }
      }
    }
  }

  @Test("questions about the young end of a long history read little of it")
  func bounded() throws {
    let sample = SampleGraph()
    var tip = sample.add(timestamp: 0)
    for number in 1..<3000 { tip = sample.add([tip], timestamp: Double(number)) }
    let a = sample.add([tip], timestamp: 5000)
    let b = sample.add([tip], timestamp: 5001)
    let counter = CountingSource(sample)
    let graph = VersionGraph(source: counter)
    #expect(try graph.commonAncestors(a, b).map(\.number) == [tip])
    #expect(try !graph.isAncestorOrSelf(a, of: b))
    #expect(try graph.isAncestorOrSelf(tip, of: b))
    var walk = try HistoryWalk(graph, from: [a, b])
    for _ in 0..<5 { _ = try walk.next() }
    #expect(counter.reads < 20)
  }

  @Test("a row of merges of heads looks at each version once", arguments: [false, true])
  func manyHeads(isFirst: Bool) throws {
    let sample = SampleGraph()
    let root = sample.add(timestamp: 0)
    let tip = sample.add([root], timestamp: 1)
    let heads = (0..<2000).map { sample.add([tip], timestamp: Double(2 + $0)) }
    let source = CountingSource(sample)
    // It remembers little, as it does of a history that is longer.
    let graph = VersionGraph(source: source, limit: 4)
    var merged = heads[0]
    for head in heads.dropFirst() {
      let pair = isFirst ? [merged, head] : [head, merged]
      #expect(try graph.commonAncestors(pair[0], pair[1]).map(\.number) == [tip])
      merged = sample.add(pair, timestamp: 3000)
    }
    #expect(source.reads < 20_000)
  }

  @Test(
    "what a row of merges has in common with others is what brute force finds", arguments: 1...20)
  func rows(seed: Int) throws {
    let sample = SampleGraph.random(seed: UInt64(seed), count: 60)
    var random = SeededRandom(seed: UInt64(seed))
    let graph = VersionGraph(source: sample)
    var tip = VersionNumber(UInt32(Int.random(in: 1...60, using: &random)))
    for _ in 0..<40 {
      let all = sample.nodes
      let ancestors = sample.ancestors()
      let other = all[Int.random(in: 0..<all.count, using: &random)].number
      let common = (ancestors[tip] ?? []).intersection(ancestors[other] ?? [])
      let maximal = common.filter { one in
        !common.contains { $0 != one && (ancestors[$0] ?? []).contains(one) }
      }
      let pair = Bool.random(using: &random) ? (tip, other) : (other, tip)
      let found = try graph.commonAncestors(pair.0, pair.1)
      #expect(Set(found.map(\.number)) == maximal, "seed \(seed)")
      #expect(found == found.sorted(by: HistoryNode.mergesBefore))
      if tip != other { tip = sample.add([pair.0, pair.1], timestamp: Double(all.count)) }
    }
  }

  @Test("a version that stays behind is asked about at every step of the others at little cost")
  func staysBehind() throws {
    let sample = SampleGraph()
    for number in 1..<3000 {
      sample.add(number == 1 ? [] : [VersionNumber(UInt32(number - 1))], timestamp: Double(number))
    }
    let side = sample.add([VersionNumber(1)], timestamp: 0)
    let source = CountingSource(sample)
    // It remembers little, as it does of a history that is longer.
    let graph = VersionGraph(source: source, limit: 4)
    for number in stride(from: 1000, to: 3000, by: 100) {
      #expect(try graph.isAncestorOrSelf(VersionNumber(1), of: VersionNumber(UInt32(number))))
      #expect(try !graph.isAncestorOrSelf(VersionNumber(2), of: side))
      let common = try graph.commonAncestors(side, VersionNumber(UInt32(number)))
      #expect(common.map(\.number) == [VersionNumber(1)])
      #expect(try graph.commonAncestors(VersionNumber(5), VersionNumber(UInt32(number))).count == 1)
    }
    #expect(source.reads < 12_000)
  }
}
