internal import Platform
internal import Synchronization

/// A versioned store of values in a directory.
///
///     STORE/lock          held for life by the one writer; its text is the writer's process id
///     STORE/readers       share-locked by every reader
///     STORE/store.sqlite  versions, heads, settings, peers (``Catalog``)
///     STORE/index.sqlite  what can be rebuilt: where chunks stand, who changed which key
///     STORE/segments/     chunks and map nodes (``RecordStore``)
///
/// - Concurrency: callable from any thread. Lock order: write lock, catalog's writer, record store's
///   writer, published state; the last two are never held while calling out.
public final class Store: Sendable {
  package enum Mode: Sendable { case reader, writer }

  /// What is committed, as every thread sees it.
  package struct State: Sendable {
    /// The version that the live tree continues from.
    package var head: VersionNumber?
    /// The live tree's map: the head's entries with the local inode numbers of the live tree.
    package var headMap: MapRoot?
    /// The number of the newest version.
    package var lastNumber: UInt32
    package var settings: [String: [UInt8]]
  }

  package let path: String
  package let mode: Mode
  /// 16 bytes that name the store; copies share them.
  package let storeID: [UInt8]
  /// Names this copy of the store: another after `cp -a`.
  package let replicaID: String

  let catalog: Catalog
  let records: RecordStore
  package let contents: ContentStore
  let index: Index
  let counters: Counters
  /// Map nodes of all versions.
  package let nodeCache: NodeCache
  /// Who descends from whom, as committed.
  package let graph: VersionGraph
  let history: StoreHistory
  private let lockFile: File

  // Held through a write transaction, I/O included: only writers take it.
  let writeLock = Mutex<Void>(())
  // A leaf lock.
  let published: Mutex<State>

  /// The store's directory.
  public var rootDirectory: String { path }

  /// Where map nodes are read, and written inside a transaction.
  package var nodes: any NodeStorage { records }

  init(
    path: String, mode: Mode, storeID: [UInt8], replicaID: String, catalog: Catalog,
    records: RecordStore, index: Index, counters: Counters, lockFile: File, state: State
  ) {
    self.path = path
    self.mode = mode
    self.storeID = storeID
    self.replicaID = replicaID
    self.catalog = catalog
    self.records = records
    self.index = index
    self.counters = counters
    self.lockFile = lockFile
    contents = ContentStore(records: records, index: index)
    nodeCache = NodeCache(budget: 1 << 26)
    history = StoreHistory(catalog: catalog, nodes: records, cache: nodeCache)
    graph = VersionGraph(source: history)
    published = Mutex(state)
  }

  /// What is committed now; a reader sees what the writer of another process committed.
  package func state() throws(StoreError) -> State {
    guard mode == .reader else { return published.withLock { $0 } }
    return try catalog.read { (database) throws(StoreError) in
      try Store.loadState(catalog, database)
    }
  }

  static func loadState(_ catalog: Catalog, _ database: Database) throws(StoreError) -> State {
    let newest = try catalog.headLog(before: .max, limit: 1, in: database).first
    return State(
      head: newest?.version, headMap: newest?.map,
      lastNumber: try catalog.lastNumber(in: database),
      settings: try catalog.settings(in: database))
  }
}
