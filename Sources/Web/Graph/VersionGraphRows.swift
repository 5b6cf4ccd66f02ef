import HistoryTree
import LLVSCore
import Platform

/// The rows of all kept versions of branches, newest first, made on request.
/// - Concurrency: any thread; its lock is held while at most some thousand rows are made.
final class VersionGraphRows: Sendable {
  private struct State {
    var walk: HistoryWalk
    var layout = LaneLayout()
    var rows: [LaneLayout.Row] = []
    var isComplete = false
  }

  struct Page: Sendable {
    var rows: ArraySlice<LaneLayout.Row>
    /// The number of all rows; an estimate until all are made.
    var total: Int
    var isComplete: Bool
  }

  private static let step = 4096
  /// The versions where it begins; another list is needed when these change.
  let starts: Set<VersionNumber>
  /// The versions that have no row; another list is needed when more are forgotten.
  let forgotten: NumberSet
  private let estimate: Int
  private let state: Monitor<State>

  /// The heads of all branches that no other head contains, and the version that the tree shows.
  static func starts(of store: Store) throws -> Set<VersionNumber> {
    var starts = Set<VersionNumber>()
    for name in try store.lineNames().branches {
      let line = name == VersionRecord.unnamedLine ? nil : Branch(rawValue: name)
      starts.formUnion(try store.graph.uncontainedHeads(ofLine: line).map(\.number))
    }
    if let head = try store.state().head { starts.insert(head) }
    return starts
  }

  init(_ store: Store, from starts: Set<VersionNumber>) throws(StoreError) {
    self.starts = starts
    forgotten = try store.forgottenVersions()
    estimate = Int(try store.state().lastNumber) - forgotten.count
    state = Monitor(State(walk: try HistoryWalk(store.graph, from: Array(starts))))
  }

  func page(from first: Int, count: Int) throws(StoreError) -> Page {
    try make(first + count)
    return state.withLock { state in
      let start = min(first, state.rows.count)
      return Page(
        rows: state.rows[start..<min(start + count, state.rows.count)],
        total: state.isComplete ? state.rows.count : max(state.rows.count + 1, estimate),
        isComplete: state.isComplete)
    }
  }

  func complete() throws(StoreError) { try make(.max) }

  /// Calls `body` with all rows once they are made.
  func withAll<R>(_ body: ([LaneLayout.Row]) -> R) throws(StoreError) -> R {
    try complete()
    return body(state.withLock { $0.rows })
  }

  private func make(_ count: Int) throws(StoreError) {
    while true {
      let isDone = try state.withLock { (state) throws(StoreError) -> Bool in
        let end = min(count, state.rows.count + Self.step)
        while !state.isComplete, state.rows.count < end {
          guard let (node, predecessors) = try state.walk.nextStep() else {
            state.isComplete = true
            break
          }
          guard !forgotten.contains(node.number) else {
            if !state.rows.isEmpty {
              state.layout.skip(
                node.number, to: predecessors, below: &state.rows[state.rows.count - 1])
            }
            continue
          }
          state.rows.append(
            state.layout.add(
              node.number, timestamp: node.timestamp, predecessors: predecessors))
        }
        return state.isComplete || state.rows.count >= count
      }
      if isDone { return }
    }
  }
}
