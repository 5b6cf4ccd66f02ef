internal import Synchronization

/// The history and the maps that states of versions are computed from.
package protocol DocumentVersions: AnyObject, Sendable {
  func historyNode(_ number: VersionNumber) throws(StoreError) -> HistoryNode
  func valueMap(ofVersion number: VersionNumber) throws(StoreError) -> ValueMap
  func metadata(ofVersion number: VersionNumber) throws(StoreError) -> Version.Metadata
}

/// States of versions in memory.
///
/// - Concurrency: any thread; the lock is a leaf.
package final class DocumentStateCache: Sendable {
  private struct State {
    var states: [DocumentDirectory: [VersionNumber: DocumentState]] = [:]
    var directories: [VersionNumber: Set<DocumentDirectory>] = [:]
  }

  /// So many states are kept of each directory; they share what is equal.
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

  fileprivate func keep(
    _ directory: DocumentDirectory, _ made: [VersionNumber: DocumentState]
  ) {
    state.withLock { state in
      var all = state.states[directory] ?? [:]
      all.merge(made) { $1 }
      if all.count > Self.limit {
        // The newest are asked for next.
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
///
/// - Complexity: O(the changes of the versions since one whose state is in memory).
/// - Concurrency: any thread.
package struct DocumentStates: Sendable {
  let source: any DocumentVersions
  private let cache: DocumentStateCache
  /// States of versions after ``committed``, which go if their transaction is undone.
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

  /// Returns the directories of which a version, or one of its ancestors, holds what was imported.
  package func directories(
    at number: VersionNumber
  ) throws(StoreError) -> Set<DocumentDirectory> {
    var made: [VersionNumber: Set<DocumentDirectory>] = [:]
    var stack = [number]
    while let top = stack.last {
      guard made[top] == nil else {
        stack.removeLast()
        continue
      }
      if let known = home(of: top).directories(top) {
        made[top] = known
        continue
      }
      let node = try source.historyNode(top)
      guard node.knowsDocuments else {
        made[top] = []
        continue
      }
      var missing: [VersionNumber] = []
      try node.forEachPredecessor { before throws(StoreError) in
        if made[before] == nil { missing.append(before) }
      }
      guard missing.isEmpty else {
        stack += missing
        continue
      }
      var all: Set<DocumentDirectory> = []
      if let record = DocumentRecord(try source.metadata(ofVersion: top)) {
        all.insert(record.directory)
      }
      try node.forEachPredecessor { before throws(StoreError) in
        all.formUnion(made[before] ?? [])
      }
      made[top] = all
    }
    let (old, new) = split(made)
    cache.keep(old)
    if !new.isEmpty { (own ?? cache).keep(new) }
    return made[number] ?? []
  }

  private func split<Value>(
    _ made: [VersionNumber: Value]
  ) -> ([VersionNumber: Value], [VersionNumber: Value]) {
    (made.filter { $0.key <= committed }, made.filter { $0.key > committed })
  }

  /// Returns a version as a document of a directory.
  package func state(
    of directory: DocumentDirectory, at number: VersionNumber
  ) throws(StoreError) -> DocumentState {
    if let known = home(of: number).known(directory, number) { return known }
    var made: [VersionNumber: DocumentState] = [:]
    func known(_ number: VersionNumber) -> DocumentState? {
      made[number] ?? home(of: number).known(directory, number)
    }
    var stack = [number]
    while let top = stack.last {
      guard known(top) == nil else {
        stack.removeLast()
        continue
      }
      let node = try source.historyNode(top)
      var missing: [VersionNumber] = []
      try node.forEachPredecessor { before throws(StoreError) in
        if known(before) == nil { missing.append(before) }
      }
      guard missing.isEmpty else {
        stack += missing
        continue
      }
      let step = DocumentStep(source: source, directory: directory, node: node)
      let first = node.first.flatMap(known) ?? DocumentState()
      if let second = node.second.flatMap(known) {
        made[top] = try step.merged(first, second)
      } else {
        made[top] = try step.continued(first)
      }
      stack.removeLast()
    }
    let (old, new) = split(made)
    cache.keep(directory, old)
    if !new.isEmpty { (own ?? cache).keep(directory, new) }
    return made[number] ?? DocumentState()
  }
}
