import HistoryTree
package import LLVSCore
package import Platform
import TreeNames

/// The versions of a log, one at a time. With paths, a version equal there to a predecessor is skipped, and only
/// that predecessor is followed.
package struct LogQuery {
  package enum Step {
    /// A version to show, and the predecessors that the walk follows.
    case shown(VersionRecord, predecessors: [VersionNumber])
    /// A version to skip, and the versions to which a graph redirects its column.
    case passed(VersionNumber, to: [VersionNumber])
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
    /// One of them matches the author or the machine of each version; empty for any.
    package var author: [RegularExpression] = []
    /// One of them matches the message of each version; empty for any.
    package var message: [RegularExpression] = []
    /// Each version changed how often the files have these bytes; nil for any.
    package var content: [UInt8]?
    /// The one path is followed to the names that it had before.
    package var followsRenames = false
    /// True to show versions that the store has forgotten too.
    package var includesForgotten = false

    package init(paths: [[UInt8]] = []) { self.paths = paths }
  }

  private let store: Store
  private let limits: Limits
  private let filter: LogFilter
  private var walk: HistoryWalk
  private let forgotten: NumberSet
  /// Nil unless versions are searched for `content`.
  private let counter: OccurrenceCounter?
  /// The number of versions whose changes were not searched for `content`, because bytes are forgotten.
  package private(set) var passedOver = 0

  package init(
    _ store: Store, from numbers: [VersionNumber], limits: Limits, order: HistoryWalk.Order
  ) throws {
    self.store = store
    self.limits = limits
    counter = limits.content.map { OccurrenceCounter(of: $0, in: store.contents) }
    let filter = LogFilter(store: store, limits: limits)
    self.filter = filter
    forgotten = limits.includesForgotten ? NumberSet() : try store.forgottenVersions()
    var starts: [VersionNumber] = []
    for number in numbers where try !filter.isKnown(number) { starts.append(number) }
    walk = try HistoryWalk(store.graph, from: starts, order: order) {
      (node) throws(StoreError) in try filter.ways(node)
    }
  }

  /// True if the limits permit a version, wherever it is in the history.
  package mutating func isMeant(_ record: VersionRecord) throws -> Bool {
    let node = try store.graph.node(record.number)
    _ = try filter.ways(node)
    return try meant(node) != nil
  }

  /// Returns the next step; nil at the end.
  /// - Complexity: O(log *n*) for each path and version; with `content`, O(bytes of the changed chunks).
  package mutating func next() throws -> Step? {
    guard let (node, predecessors) = try walk.nextStep() else { return nil }
    guard let record = try meant(node) else {
      return .passed(node.number, to: predecessors)
    }
    return .shown(record, predecessors: predecessors)
  }

  private mutating func meant(_ node: HistoryNode) throws -> VersionRecord? {
    guard filter.isShown(node.number), !forgotten.contains(node.number),
      node.timestamp >= limits.since ?? -.infinity,
      node.timestamp <= limits.until ?? .infinity, let record = try store.version(node.number),
      try hasWords(record)
    else { return nil }
    do {
      return try changesContent(record) ? record : nil
    } catch let error as StoreError where error.isForgotten {
      passedOver += 1
      return nil
    }
  }

  private func hasWords(_ record: VersionRecord) throws -> Bool {
    guard !limits.author.isEmpty || !limits.message.isEmpty else { return true }
    let metadata = try store.metadata(of: record)
    let author = Author(metadata)
    func matches(_ patterns: [RegularExpression], _ texts: [String?]) -> Bool {
      let texts = texts.compactMap { $0.map { Array($0.utf8) } }
      return patterns.isEmpty
        || patterns.contains { pattern in texts.contains { pattern.firstMatch(in: $0) != nil } }
    }
    return matches(limits.author, [author.name, author.machine])
      && matches(limits.message, [metadata[.message]?.value()])
  }

  /// True if the changed files together have the wanted bytes more or less often than in the predecessor, so a rename
  /// alone changes nothing. Nor does a merge. Where the predecessor's bytes are forgotten, older ones count.
  private func changesContent(_ record: VersionRecord) throws -> Bool {
    guard let counter else { return true }
    guard record.second == nil else { return false }
    let old = try store.map(of: store.version(record.first))
    var paths = filter.paths(of: record.number)
    if limits.followsRenames, let first = record.first { paths += filter.paths(of: first) }
    var diff = try TreeDiff(
      from: TreeView(map: old), to: TreeView(map: store.map(of: record)), paths: paths)
    var sum = 0
    while let (_, change) = try diff.next() {
      if change.isDirectory || change.old?.stored.digest == change.new?.stored.digest { continue }
      sum += try change.new.map { try counter.count(in: $0.stored) } ?? 0
      sum -= try change.old.map { try count(with: counter, in: $0, before: record) } ?? 0
    }
    return sum != 0
  }

  /// Counts in a file of the predecessor, or in the newest older revision of it that has bytes; 0 without one.
  private func count(
    with counter: OccurrenceCounter, in entry: Entry, before record: VersionRecord
  ) throws -> Int {
    var found: Entry? = entry
    var older = try store.version(record.first)
    while let current = found {
      if let count = try counter.countIfHere(in: current.stored) { return count }
      repeat {
        older = try store.version(older?.first)
        found = try older.flatMap { try store.map(of: $0).entry(at: entry.key) }
      } while found?.stored.digest == current.stored.digest
    }
    return 0
  }
}

/// Decides which predecessors a walk follows, and which versions changed something at the paths. Unchecked: one
/// thread uses it, together with its walk.
private final class LogFilter: @unchecked Sendable {
  private let store: Store
  private let limits: LogQuery.Limits
  private var known: Ancestors?
  private var hidden: Set<VersionNumber> = []
  /// The earlier name of the followed file in versions before it was renamed.
  private var named: [VersionNumber: [[UInt8]]] = [:]
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

  func paths(of number: VersionNumber) -> [[UInt8]] { named[number] ?? limits.paths }

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
    let paths = paths(of: node.number)
    if node.first == nil {
      if try !differs(TreeView(map: store.map(.empty)), own, paths) { hidden.insert(node.number) }
      return ways
    }
    for number in [node.first, node.second].compactMap(\.self) {
      let old = try view(number)
      if limits.followsRenames {
        named[number] = try formerPath(paths[0], own, in: old).map { [$0] } ?? paths
      }
      if try !differs(old, own, paths) {
        hidden.insert(node.number)
        return ways.contains(number) ? [number] : []
      }
    }
    views[node.number] = nil
    return ways
  }

  private func formerPath(
    _ path: [UInt8], _ own: TreeView, in old: TreeView
  ) throws(StoreError) -> [UInt8]? {
    guard case .value(let entry)? = try own.find(path: path),
      let former = try VersionDifferences.former(entry, in: old.map, of: own.map)
    else { return nil }
    return try old.path(of: former.key)
  }

  private func differs(
    _ old: TreeView, _ new: TreeView, _ paths: [[UInt8]]
  ) throws(StoreError) -> Bool {
    var diff = try TreeDiff(from: old, to: new, paths: paths)
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
