import HistoryTree
import LLVSCore
import TreeNames

/// The versions that a log shows, one after the other.
///
/// Where paths are given, a version that has there what one of its predecessors has is passed over, and
/// only that predecessor followed.
struct LogQuery {
  /// What a walk comes to.
  enum Step {
    /// A version to show, and what the walk goes on with from it.
    case shown(VersionRecord, predecessors: [VersionNumber])
    /// A version to pass over, and where what led to it leads now.
    case passed(VersionNumber, to: VersionNumber?)
  }

  struct Limits {
    var paths: [[UInt8]] = []
    /// Seconds since 2001; what is older is not shown, nor what it was made from.
    var since: Double?
    /// Seconds since 2001; what is newer is not shown.
    var until: Double?
    /// What this version was made from, and itself, is not shown.
    var notBefore: VersionNumber?
  }

  private let store: Store
  private let limits: Limits
  private let sieve: Sieve
  private var walk: HistoryWalk

  init(
    _ store: Store, from numbers: [VersionNumber], limits: Limits, order: HistoryWalk.Order
  ) throws {
    self.store = store
    self.limits = limits
    let sieve = Sieve(store: store, limits: limits)
    self.sieve = sieve
    var starts: [VersionNumber] = []
    for number in numbers where try !sieve.isKnown(number) { starts.append(number) }
    walk = try HistoryWalk(store.graph, from: starts, order: order) {
      (node) throws(StoreError) in try sieve.ways(node)
    }
  }

  /// Whether a version would be shown, wherever it stands.
  func isMeant(_ record: VersionRecord) throws -> Bool {
    let node = try store.graph.node(record.number)
    guard node.timestamp >= limits.since ?? -.infinity,
      node.timestamp <= limits.until ?? .infinity
    else { return false }
    _ = try sieve.ways(node)
    return sieve.isShown(record.number)
  }

  /// - Complexity: O(log *n*) for each path and version.
  mutating func next() throws -> Step? {
    guard let (node, predecessors) = try walk.nextStep() else { return nil }
    let isMeant =
      sieve.isShown(node.number) && node.timestamp >= limits.since ?? -.infinity
      && node.timestamp <= limits.until ?? .infinity
    guard isMeant, let record = try store.version(node.number) else {
      return .passed(node.number, to: predecessors.first)
    }
    return .shown(record, predecessors: predecessors)
  }
}

/// Where a walk goes on from each version, and which of them changed what is looked for.
///
/// Unchecked: it goes with its walk, which one thread uses.
private final class Sieve: @unchecked Sendable {
  private let store: Store
  private let limits: LogQuery.Limits
  private var known: Ancestors?
  private var hidden: Set<VersionNumber> = []
  /// Views of versions met lately: each is looked at for what it was made from and for what came of it.
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
    // Clocks only go forward from a version to what is made from it, but for those of plain LLVS.
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
