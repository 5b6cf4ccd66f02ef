internal import Synchronization

/// The history and the maps for computing the states of versions.
package protocol DocumentVersions: AnyObject, Sendable {
  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode
  func valueMap(ofVersion number: VersionNumber) throws(StoreError) -> ValueMap
  func metadata(ofVersion number: VersionNumber) throws(StoreError) -> Version.Metadata
}

/// States of versions in memory.
/// - Concurrency: any thread; the lock is a leaf.
package final class DocumentStateCache: Sendable {
  private struct State {
    var states: [DocumentDirectory: [VersionNumber: DocumentState]] = [:]
    var directories: [VersionNumber: Set<DocumentDirectory>] = [:]
  }

  /// The most states kept of each directory; they share equal parts.
  private static let limit = 16_384
  private let state = Mutex(State())

  package init() {}

  fileprivate func known(_ directory: DocumentDirectory, _ number: VersionNumber) -> DocumentState?
  {
    state.withLock { $0.states[directory]?[number] }
  }

  fileprivate func directories(_ number: VersionNumber) -> Set<DocumentDirectory>? {
    state.withLock { $0.directories[number] }
  }

  fileprivate func keep(_ directory: DocumentDirectory, _ made: [VersionNumber: DocumentState]) {
    state.withLock { state in
      var all = state.states[directory] ?? [:]
      all.merge(made) { $1 }
      if all.count > Self.limit {
        // The newest are needed next.
        let newest = all.keys.sorted().suffix(Self.limit / 2)
        all = Dictionary(
          uniqueKeysWithValues: newest.compactMap { key in all[key].map { (key, $0) } })
      }
      state.states[directory] = all
    }
  }

  fileprivate func keep(_ made: [VersionNumber: Set<DocumentDirectory>]) {
    state.withLock { state in
      if state.directories.count > Self.limit { state.directories = [:] }
      state.directories.merge(made) { $1 }
    }
  }
}

/// Computes what versions are as documents: ``DocumentState``.
/// - Complexity: O(the changes of the versions since one whose state is in memory).
/// - Concurrency: any thread.
package struct DocumentStates: Sendable {
  let source: any DocumentVersions
  private let cache: DocumentStateCache
  /// States of versions after ``committed``; they are removed if their transaction is rolled back.
  private let own: DocumentStateCache?
  private let committed: VersionNumber

  init(
    source: any DocumentVersions, cache: DocumentStateCache, own: DocumentStateCache? = nil,
    committed: VersionNumber = VersionNumber(.max)
  ) {
    self.source = source
    self.cache = cache
    self.own = own
    self.committed = committed
  }

  private func home(of number: VersionNumber) -> DocumentStateCache {
    number <= committed ? cache : own ?? cache
  }

  /// Computes a version's value from those of its predecessors, which it reads only where `descends`.
  private func computed<Value>(
    at number: VersionNumber, known: @escaping (VersionNumber) -> Value?,
    descends: (HistoryNode) -> Bool = { _ in true },
    _ make: (HistoryNode, (VersionNumber) -> Value?) throws(StoreError) -> Value
  ) throws(StoreError) -> [VersionNumber: Value] {
    var made: [VersionNumber: Value] = [:]
    func find(_ number: VersionNumber) -> Value? { made[number] ?? known(number) }
    var stack = [number]
    while let top = stack.last {
      guard find(top) == nil else {
        stack.removeLast()
        continue
      }
      let node = try source.historyNode(top)
      var missing: [VersionNumber] = []
      if descends(node) {
        try node.forEachPredecessor { before throws(StoreError) in
          if find(before) == nil { missing.append(before) }
        }
      }
      if missing.isEmpty { made[top] = try make(node, find) }
      stack += missing
    }
    return made
  }

  private func keep<Value>(
    _ made: [VersionNumber: Value], _ keep: (DocumentStateCache, [VersionNumber: Value]) -> Void
  ) {
    keep(cache, made.filter { $0.key <= committed })
    let new = made.filter { $0.key > committed }
    if !new.isEmpty { keep(own ?? cache, new) }
  }

  package func directories(at number: VersionNumber) throws(StoreError) -> Set<DocumentDirectory> {
    if let known = home(of: number).directories(number) { return known }
    let made = try computed(
      at: number, known: { home(of: $0).directories($0) }, descends: \.knowsDocuments
    ) { (node, before) throws(StoreError) -> Set<DocumentDirectory> in
      guard node.knowsDocuments else { return [] }
      var all: Set<DocumentDirectory> = []
      if let record = DocumentRecord(try source.metadata(ofVersion: node.number)) {
        all.insert(record.directory)
      }
      for predecessor in [node.first, node.second].compactMap(\.self) {
        all.formUnion(before(predecessor) ?? [])
      }
      return all
    }
    keep(made) { $0.keep($1) }
    return made[number] ?? []
  }

  package func state(
    of directory: DocumentDirectory, at number: VersionNumber
  ) throws(StoreError) -> DocumentState {
    if let known = home(of: number).known(directory, number) { return known }
    let made = try computed(at: number, known: { home(of: $0).known(directory, $0) }) {
      (node, before) throws(StoreError) in
      let step = DocumentStep(source: source, directory: directory, node: node)
      let first = node.first.flatMap(before) ?? DocumentState()
      if let second = node.second.flatMap(before) { return try step.merged(first, second) }
      return try step.continued(first)
    }
    keep(made) { $0.keep(directory, $1) }
    return made[number] ?? DocumentState()
  }
}
