package import LLVSCore

/// Gives each version of a list a lane, and finds the lines from row to row. Each version comes before its
/// predecessors. A lane belongs to a predecessor of versions above; a version takes its own lane or the first free
/// one, so that a drawing never shifts.
/// - Complexity: O(lanes) for each row.
package struct LaneLayout {
  /// A line from a row to the next one.
  package struct Edge: Hashable, Sendable {
    package let from: UInt16
    package let to: UInt16
  }

  package struct Row: Sendable {
    package let number: VersionNumber
    package let timestamp: Double
    package let lane: UInt16
    /// The lines to the next row that are drawn.
    package fileprivate(set) var edges: [Edge]
  }

  /// The most lanes with lines: no page is wider.
  package static let lanesDrawn = 64
  private var lanes: [VersionNumber?] = []
  package init() {}

  package mutating func add(
    _ number: VersionNumber, timestamp: Double, predecessors: [VersionNumber]
  ) -> Row {
    let lane = lanes.firstIndex(of: number) ?? free()
    lanes[lane] = nil
    var edges: [Edge] = []
    for (index, waiting) in lanes.prefix(Self.lanesDrawn).enumerated() where waiting != nil {
      edges.append(Edge(from: UInt16(index), to: UInt16(index)))
    }
    for predecessor in predecessors {
      let target: Int
      if let known = lanes.firstIndex(of: predecessor) {
        // The left one of two lanes continues, so that the drawing does not move to the right.
        if known > lane, lanes[lane] == nil {
          lanes[known] = nil
          lanes[lane] = predecessor
          target = lane
          let old = Edge(from: UInt16(clamping: known), to: UInt16(clamping: known))
          if let index = edges.firstIndex(of: old) {
            edges[index] = Edge(from: old.from, to: UInt16(clamping: lane))
          }
        } else {
          target = known
        }
      } else {
        target = lanes[lane] == nil ? lane : free()
        lanes[target] = predecessor
      }
      if lane < Self.lanesDrawn, target < Self.lanesDrawn {
        edges.append(Edge(from: UInt16(lane), to: UInt16(target)))
      }
    }
    while let last = lanes.last, last == nil { lanes.removeLast() }
    return Row(
      number: number, timestamp: timestamp, lane: UInt16(clamping: lane), edges: edges)
  }

  /// Gives the lane of a version that is not shown to its predecessors; `last` is the row above.
  package mutating func skip(
    _ number: VersionNumber, to predecessors: [VersionNumber], below last: inout Row
  ) {
    guard let lane = lanes.firstIndex(of: number) else { return }
    let ending = last.edges.filter { $0.to == lane }
    lanes[lane] = nil
    var targets: [Int] = []
    for predecessor in predecessors {
      var target = lanes.firstIndex(of: predecessor)
      if target == nil {
        target = lanes[lane] == nil ? lane : free()
      }
      guard let target else { continue }
      lanes[target] = predecessor
      targets.append(target)
    }
    if !targets.contains(lane) { last.edges.removeAll { $0.to == lane } }
    for target in targets where target != lane && target < Self.lanesDrawn {
      for edge in ending.map({ Edge(from: $0.from, to: UInt16(target)) })
      where !last.edges.contains(edge) {
        last.edges.append(edge)
      }
    }
  }

  private mutating func free() -> Int {
    if let index = lanes.firstIndex(of: nil) { return index }
    lanes.append(nil)
    return lanes.count - 1
  }
}
