import LLVSCore
import TestSupport
import Testing
import Web

@Suite("Lanes of the graph") struct LaneLayoutTests {
  private func rows(_ history: [(Int, [Int])]) -> [LaneLayout.Row] {
    var layout = LaneLayout()
    return history.map { number, predecessors in
      layout.add(
        VersionNumber(UInt32(number)), timestamp: Double(number),
        predecessors: predecessors.map { VersionNumber(UInt32($0)) })
    }
  }

  @Test("A line without branches is one lane")
  func line() {
    let rows = rows([(3, [2]), (2, [1]), (1, [])])
    #expect(rows.map(\.lane) == [0, 0, 0])
    #expect(rows.map(\.edges.count) == [1, 1, 0])
  }

  @Test("A branch takes a second lane, and gives it back where it began")
  func branch() {
    let rows = rows([(5, [4, 3]), (4, [2]), (3, [2]), (2, [1]), (1, [])])
    #expect(rows.map(\.lane) == [0, 0, 1, 0, 0])
    #expect(rows[2].edges.map { [$0.from, $0.to] } == [[0, 0], [1, 0]])
    #expect(rows[3].edges.map { [$0.from, $0.to] } == [[0, 0]])
  }

  @Test("In any history every line leads from a version to its predecessor", arguments: 0..<20)
  func histories(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let count = 60
    let history = (1...count).reversed().map { number -> (Int, [Int]) in
      guard number > 1 else { return (number, []) }
      let first = Int.random(in: max(1, number - 6)..<number, using: &random)
      guard Int.random(in: 0..<3, using: &random) == 0 else { return (number, [first]) }
      let second = Int.random(in: max(1, number - 9)..<number, using: &random)
      return (number, first == second ? [first] : [first, second])
    }
    let rows = rows(history)
    // Each line is followed down from a version, lane by lane, to the row of its predecessor.
    for (index, (number, predecessors)) in history.enumerated() {
      for predecessor in predecessors {
        let target = count - predecessor
        var lanes = Set(rows[index].edges.filter { $0.from == rows[index].lane }.map(\.to))
        for row in rows[(index + 1)..<target] {
          lanes = Set(
            row.edges.filter { lanes.contains($0.from) && $0.from != row.lane }.map(\.to))
        }
        #expect(lanes.contains(rows[target].lane), "\(number) to \(predecessor)")
      }
    }
    // Nothing ends before its predecessor's row: lines that arrive at a lane go on or end at a node.
    for (row, next) in zip(rows, rows.dropFirst()) {
      for edge in row.edges where edge.to != next.lane {
        #expect(next.edges.contains { $0.from == edge.to })
      }
    }
  }
  @Test("A merge that is left out leaves lines to both of its sides")
  func skippedMerge() {
    func version(_ number: UInt32) -> VersionNumber { VersionNumber(number) }
    var layout = LaneLayout()
    var first = layout.add(version(5), timestamp: 5, predecessors: [version(4)])
    layout.skip(version(4), to: [version(3), version(2)], below: &first)
    #expect(first.edges.map { [$0.from, $0.to] } == [[0, 0], [0, 1]])
    #expect(layout.add(version(3), timestamp: 3, predecessors: [version(1)]).lane == 0)
    #expect(layout.add(version(2), timestamp: 2, predecessors: [version(1)]).lane == 1)
  }

  @Test("Without some versions, every line still ends at a version or goes on", arguments: 0..<20)
  func skipped(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var layout = LaneLayout()
    var rows: [LaneLayout.Row] = []
    for number in (1...60).reversed() {
      var predecessors: [VersionNumber] = []
      if number > 1 {
        for _ in 0..<Int.random(in: 1...2, using: &random) {
          let found = VersionNumber(
            UInt32(Int.random(in: max(1, number - 6)..<number, using: &random)))
          if !predecessors.contains(found) { predecessors.append(found) }
        }
      }
      let version = VersionNumber(UInt32(number))
      if !rows.isEmpty, number > 1, Int.random(in: 0..<3, using: &random) > 0 {
        layout.skip(version, to: predecessors, below: &rows[rows.count - 1])
      } else {
        rows.append(
          layout.add(version, timestamp: Double(number), predecessors: predecessors))
      }
    }
    for (row, next) in zip(rows, rows.dropFirst()) {
      for edge in row.edges where edge.to != next.lane {
        #expect(next.edges.contains { $0.from == edge.to })
      }
      #expect(row.edges.count == Set(row.edges).count)
    }
    #expect(rows.last?.edges.isEmpty == true)
  }
}
