import LLVSCore
import Synchronization
import TestSupport

@testable import StoreSupport

/// A history in memory, for tests.
final class SampleGraph: HistorySource {
  private let state = Mutex<[HistoryNode]>([])

  var nodes: [HistoryNode] { state.withLock { $0 } }

  @discardableResult
  func add(
    _ predecessors: [VersionNumber] = [], timestamp: Double, id: Version.ID? = nil,
    line: Branch? = nil, automatic: Bool = false, mapIsEmpty: Bool = false
  ) -> VersionNumber {
    state.withLock { nodes in
      let number = VersionNumber(UInt32(nodes.count + 1))
      nodes.append(
        HistoryNode(
          number: number, id: id ?? Version.ID("V\(number.rawValue)"),
          predecessors: predecessors.map { nodes[Int($0.rawValue) - 1] }, timestamp: timestamp,
          line: line, isAutomatic: automatic, mapIsEmpty: mapIsEmpty))
      return number
    }
  }

  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode {
    let all = nodes
    guard number.rawValue > 0, Int(number.rawValue) <= all.count else {
      throw .corrupt("no version number \(number.rawValue)")
    }
    return all[Int(number.rawValue) - 1]
  }

  func historyHeads() throws(StoreError) -> [VersionNumber] {
    let all = nodes
    let inner = Set(all.flatMap { [$0.first, $0.second].compactMap(\.self) })
    return all.map(\.number).filter { !inner.contains($0) }
  }

  func historyHeads(ofLine line: Branch?) throws(StoreError) -> [VersionNumber] {
    let mine = nodes.filter { $0.line == line }
    let inner = Set(mine.flatMap { [$0.first, $0.second].compactMap(\.self) })
    return mine.map(\.number).filter { !inner.contains($0) }
  }

  /// Every version's ancestors, itself included, by brute force.
  func ancestors() -> [VersionNumber: Set<VersionNumber>] {
    var all: [VersionNumber: Set<VersionNumber>] = [:]
    for node in nodes {
      var mine: Set = [node.number]
      for predecessor in [node.first, node.second].compactMap(\.self) {
        mine.formUnion(all[predecessor] ?? [])
      }
      all[node.number] = mine
    }
    return all
  }

  static func random(seed: UInt64, count: Int) -> SampleGraph {
    var random = SeededRandom(seed: seed)
    let graph = SampleGraph()
    for number in 1...count {
      let roll = Int.random(in: 0..<10, using: &random)
      func pick() -> VersionNumber {
        let window = Bool.random(using: &random) ? 6 : number
        return VersionNumber(
          UInt32(Int.random(in: max(1, number - window)...(number - 1), using: &random)))
      }
      var predecessors: [VersionNumber] = []
      if number > 1, roll > 0 { predecessors.append(pick()) }
      if number > 2, roll > 5 { predecessors.append(pick()) }
      if predecessors.count == 2, predecessors[0] == predecessors[1] { predecessors.removeLast() }
      graph.add(
        predecessors, timestamp: Double(Int.random(in: 0..<50, using: &random)),
        id: Version.ID("V\(UInt32.random(in: 0...UInt32.max, using: &random))-\(number)"),
        line: Int.random(in: 0..<4, using: &random) == 0 ? Branch(rawValue: "b") : nil,
        automatic: predecessors.count == 2 && Bool.random(using: &random),
        mapIsEmpty: Int.random(in: 0..<3, using: &random) == 0)
    }
    return graph
  }
}
