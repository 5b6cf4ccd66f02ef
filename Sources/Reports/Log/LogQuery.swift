import HistoryTree
package import LLVSCore
import TreeNames

/// The versions of a log, one at a time. With paths, a version equal there to a predecessor is skipped, and only
/// that predecessor is followed.
package struct LogQuery {
  package enum Step {
    /// A version to show, and the predecessors that the walk follows.
    case shown(VersionRecord, predecessors: [VersionNumber])
    /// A version to skip, and the version to which a graph redirects its column.
    case passed(VersionNumber, to: VersionNumber?)
  }

  package struct Limits {
    /// A version must have changed one of these paths; empty for all versions.
    package var paths: [[UInt8]]
    /// Seconds since 2001; older versions are not shown, nor are their ancestors.
    package var since: Double?
    /// Seconds since 2001; newer versions are not shown.
    package var until: Double?
    /// This version and its ancestors are not shown.
    package var notBefore: VersionNumber?

    package init(paths: [[UInt8]] = []) { self.paths = paths }
  }

  private let store: Store
  private let limits: Limits
  private let filter: LogFilter
  private var walk: HistoryWalk

  package init(
    _ store: Store, from numbers: [VersionNumber], limits: Limits, order: HistoryWalk.Order
  ) throws {
    self.store = store
    self.limits = limits
    let filter = LogFilter(store: store, limits: limits)
    self.filter = filter
    var starts: [VersionNumber] = []
    for number in numbers where try !filter.isKnown(number) { starts.append(number) }
    walk = try HistoryWalk(store.graph, from: starts, order: order) {
      (node) throws(StoreError) in try filter.ways(node)
    }
  }

  /// True if the limits permit a version, wherever it is in the history.
  package func isMeant(_ record: VersionRecord) throws -> Bool {
    let node = try store.graph.node(record.number)
    guard node.timestamp >= limits.since ?? -.infinity,
      node.timestamp <= limits.until ?? .infinity
    else { return false }
    _ = try filter.ways(node)
    return filter.isShown(record.number)
  }

  /// Returns the next step; nil at the end.
  /// - Complexity: O(log *n*) for each path and version.
  package mutating func next() throws -> Step? {
    guard let (node, predecessors) = try walk.nextStep() else { return nil }
    let isMeant =
      filter.isShown(node.number) && node.timestamp >= limits.since ?? -.infinity
      && node.timestamp <= limits.until ?? .infinity
    guard isMeant, let record = try store.version(node.number) else {
      return .passed(node.number, to: predecessors.first)
    }
    return .shown(record, predecessors: predecessors)
  }
}

/// Decides which predecessors a walk follows, and which versions changed something at the paths. Unchecked: one
/// thread uses it, together with its walk.
private final class LogFilter: @unchecked Sendable {
  private let store: Store
  private let limits: LogQuery.Limits
  private var known: Ancestors?
  private var hidden: Set<VersionNumber> = []
  /// Views of recently visited versions, because each is needed again for its successors.
  private var views: [VersionNumber: TreeView] = [:]

  init(store: Store, limits: LogQuery.Limits) {
    self.store = store
    self.limits = limits
    known = limits.notBefore.map { Ancestors(of: $0, in: store.graph) }
  }

  func isKnown(_ number: VersionNumber) throws(StoreError) -> Bool {
    try known?.contains(number) ?? false
  }

  func isShown(_ number: VersionNumber) -> Bool { hidden.remove(number) == nil }

  func ways(_ node: HistoryNode) throws(StoreError) -> [VersionNumber] {
    // A version's time is not before its predecessors', except for versions of the original LLVS.
    if let since = limits.since, node.timestamp < since { return [] }
    var ways: [VersionNumber] = []
    for number in [node.first, node.second].compactMap(\.self) where try !isKnown(number) {
      ways.append(number)
    }
    guard !limits.paths.isEmpty else { return ways }
    let own = try view(node.number)
    if node.first == nil {
      if try !differs(TreeView(map: store.map(.empty)), own) { hidden.insert(node.number) }
      return ways
    }
    for number in [node.first, node.second].compactMap(\.self)
    where try !differs(view(number), own) {
      hidden.insert(node.number)
      return ways.contains(number) ? [number] : []
    }
    views[node.number] = nil
    return ways
  }

  private func differs(_ old: TreeView, _ new: TreeView) throws(StoreError) -> Bool {
    var diff = try TreeDiff(from: old, to: new, paths: limits.paths)
    return try diff.next() != nil
  }

  private func view(_ number: VersionNumber) throws(StoreError) -> TreeView {
    if let known = views[number] { return known }
    guard let record = try store.version(number) else {
      throw .corrupt("there is no version number \(number.rawValue)")
    }
    if views.count >= 256 { views = [:] }
    let view = TreeView(map: store.map(of: record))
    views[number] = view
    return view
  }
}
