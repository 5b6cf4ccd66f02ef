import LLVSTool
import TestSupport
import Testing

@testable import Reports

/// Reads a drawn graph as one reads it on paper: follows lines by their characters alone.
private struct GraphReader {
  /// A line that is followed downwards: which versions it comes from, and whether it came from the right.
  private struct Strand {
    var column: Int
    var from: Set<Int>
    var leansLeft = false
  }

  private var strands: [Strand] = []
  /// Versions and what they are drawn to be made from.
  private(set) var edges: [Int: Set<Int>] = [:]
  private(set) var faults: [String] = []

  mutating func node(_ id: Int, _ row: String) {
    let marks = Array(row)
    guard let place = marks.firstIndex(of: "*"), place % 2 == 0 else {
      faults.append("no mark in \"\(row)\"")
      return
    }
    var rest: [Strand] = []
    for strand in strands {
      if strand.column == place / 2 {
        for child in strand.from { edges[child, default: []].insert(id) }
      } else if 2 * strand.column < marks.count, marks[2 * strand.column] == "|" {
        rest.append(Strand(column: strand.column, from: strand.from))
      }
    }
    strands = rest + [Strand(column: place / 2, from: [id])]
    edges[id] = edges[id] ?? []
  }

  mutating func row(_ row: String) {
    let marks = Array(row)
    func at(_ index: Int) -> Character { marks.indices.contains(index) ? marks[index] : " " }
    var next: [Strand] = []
    for strand in strands {
      let column = strand.column
      let (down, left, right) = (
        at(2 * column) == "|", at(2 * column - 1) == "/", at(2 * column + 1) == "\\"
      )
      // At a crossing what leans left goes on to the left, what stands goes on down.
      let goesLeft = left && (strand.leansLeft || !down)
      if goesLeft {
        var target = column - 1
        while at(2 * target - 1) == "_" { target -= 1 }
        next.append(Strand(column: target, from: strand.from, leansLeft: true))
      } else if down {
        next.append(Strand(column: column, from: strand.from))
      }
      if right { next.append(Strand(column: column + 1, from: strand.from)) }
    }
    strands = next
  }
}

@Suite("The graph beside a log", .timeLimit(.minutes(1)))
struct LogGraphTests {
  private func draw(_ versions: [(Int, [Int])]) -> [String] {
    var graph = LogGraph<Int>()
    var rows: [String] = []
    for (id, predecessors) in versions {
      let step = graph.add(id, predecessors: predecessors)
      rows += [step.before].compactMap(\.self) + [step.node] + step.after
    }
    return rows.map { row in
      let end = row.lastIndex { $0 != " " }
      return end.map { String(row[...$0]) } ?? ""
    }
  }

  @Test("a merge and its two sides are drawn as git draws them")
  func merge() {
    #expect(
      draw([(5, [3, 4]), (4, [2]), (3, [1]), (2, [1]), (1, [])]) == [
        "*", "|\\", "| *", "* |", "| *", "|/", "*",
      ])
  }

  @Test("a line far to the right comes back under those that stay")
  func farBack() {
    #expect(
      draw([(9, [5, 8]), (8, [6, 7]), (7, [4, 5]), (6, [4]), (5, [4]), (4, [])]) == [
        "*", "|\\", "| *", "| |\\", "| | *", "| | |\\", "| |_|/", "|/| |", "| * |", "| |/", "* |",
        "|/", "*",
      ])
  }

  @Test("every line that is drawn ends at a predecessor, and every predecessor has one")
  func random() {
    for seed in 0..<400 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      let count = Int.random(in: 1...60, using: &random)
      let spread = Int.random(in: 1...12, using: &random)
      // Predecessors have smaller numbers, so numbers downwards are an order that a log can have.
      var predecessors: [Int: [Int]] = [:]
      for id in 0..<count {
        var chosen: [Int] = []
        for _ in 0..<Int.random(in: 0...2, using: &random) where id > 0 {
          let other = Int.random(in: max(0, id - spread)..<id, using: &random)
          if !chosen.contains(other) { chosen.append(other) }
        }
        predecessors[id] = chosen
      }
      var graph = LogGraph<Int>()
      var reader = GraphReader()
      for id in (0..<count).reversed() {
        let step = graph.add(id, predecessors: predecessors[id] ?? [])
        if let before = step.before { reader.row(before) }
        reader.node(id, step.node)
        for row in step.after { reader.row(row) }
      }
      #expect(reader.faults.isEmpty, "seed \(seed): \(reader.faults)")
      for id in 0..<count {
        #expect(reader.edges[id] == Set(predecessors[id] ?? []), "seed \(seed): version \(id)")
      }
    }
  }

  @Test("histories that have nothing to do with each other do not look like one")
  func unrelated() {
    #expect(draw([(4, [3]), (3, []), (2, [1]), (1, [])]) == ["*", "*", "", "*", "*"])
  }

  @Test("what is passed over leaves lines that lead to what comes after it")
  func passing() {
    var graph = LogGraph<Int>()
    _ = graph.add(9, predecessors: [8, 7])
    #expect(graph.skip(8, to: [6]) == [])
    #expect(graph.skip(7, to: [6]) == ["|/"])
    #expect(graph.add(6, predecessors: []).node == "*")
    #expect(graph.skip(5, to: []) == [])
  }

  @Test("a merge that is passed over leaves lines to both of its sides")
  func passingMerge() {
    var graph = LogGraph<Int>()
    _ = graph.add(9, predecessors: [8])
    #expect(graph.skip(8, to: [7, 6]) == ["|\\"])
    #expect(graph.add(7, predecessors: [5]).node == "* |")
    #expect(graph.add(6, predecessors: [5]).node == "| *")
  }
}
