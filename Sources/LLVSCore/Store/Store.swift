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
    /// Settings that are left out since their rows are not what was written.
    package var damagedSettings: [String] = []
    /// A sentence without its period for each thing in the catalog that opening put right, or found lost.
    package var mended: [String] = []
  }

  package let path: String
  package let mode: Mode
  /// 16 bytes that name the store; copies share them.
  package let storeID: [UInt8]
  /// Names this copy of the store: another after `cp -a`.
  package let replicaID: String

  package let catalog: Catalog
  let records: RecordStore
  package let contents: ContentStore
  let index: Index
  /// Questions about descent, over what is committed.
  package let graph: VersionGraph
  /// Map nodes in memory, for all maps of the store.
  package let nodeCache: NodeCache
  let history: StoreHistory
  /// Conflicts of the heads asked about last.
  let conflictCache = ConflictCache()
  let counters: Counters
  let lockFile: File
  /// Held for life as well; nil for a reader.
  let directoryLock: File?
  /// What it was opened with; nil for a reader.
  let openedFiles: OpenedFiles?
  /// Where the databases are that are read instead of the store's own; nil as a rule.
  private let copy: ReadableCopy?

  // Held through a write transaction, I/O included: only writers take it. The version that was committed
  // last, here.
  let writeLock = Mutex<VersionRecord?>(nil)
  // A leaf lock.
  let published: Mutex<State>
  /// The version whose values were asked for last; a leaf lock.
  let lastAsked = Mutex<VersionRecord?>(nil)
  /// Who is told of new versions; a leaf lock, not held while telling.
  private let versionListener = Mutex<(@Sendable () -> Void)?>(nil)

  /// The store's directory.
  public var rootDirectory: String { path }

  /// Where map nodes are read, and written inside a transaction.
  package var nodes: any NodeStorage { records }

  /// What opening found.
  struct Parts {
    var path: String
    var mode: Mode
    var storeID: [UInt8]
    var replicaID: String
    var catalog: Catalog
    var records: RecordStore
    var index: Index
    var counters: Counters
    var lockFile: File
    var directoryLock: File?
    var openedFiles: OpenedFiles?
    var copy: ReadableCopy?
    var state: State
  }

  init(_ parts: Parts) {
    path = parts.path
    mode = parts.mode
    storeID = parts.storeID
    replicaID = parts.replicaID
    catalog = parts.catalog
    records = parts.records
    index = parts.index
    counters = parts.counters
    lockFile = parts.lockFile
    directoryLock = parts.directoryLock
    openedFiles = parts.openedFiles
    copy = parts.copy
    nodeCache = parts.records.mapNodes
    contents = ContentStore(
      records: parts.records, index: parts.index, heals: parts.mode == .writer)
    history = StoreHistory(catalog: parts.catalog, nodes: parts.records, cache: nodeCache)
    graph = VersionGraph(source: history)
    published = Mutex(parts.state)
  }

  deinit { index.flush() }

  /// Leaves the databases as a clean end does: with nothing in the catalog's log, and the index complete.
  ///
  /// For who goes without giving this object back. What fails here is made up for by the next to open the
  /// store, which may be used on.
  package func settle() {
    guard mode == .writer else { return }
    index.flush()
    catalog.emptyLog()
  }

  /// Has segments left for new ones at another size than 256 MiB: for tests of what happens there.
  package func limitSegments(to bytes: UInt64) { records.limitSegments(to: bytes) }

  /// What is committed now; a reader sees what the writer of another process committed.
  package func state() throws(StoreError) -> State {
    guard mode == .reader else { return published.withLock { $0 } }
    var state = try catalog.read { (database) throws(StoreError) in
      try Store.loadState(catalog, database)
    }
    state.mended = published.withLock { $0.mended }
    return state
  }

  /// The number of the newest version that this writer committed or found; 0 where there is none.
  package var lastNumber: UInt32 { published.withLock { $0.lastNumber } }

  /// Says who is told, on the thread that committed and with no lock held, when there are new versions;
  /// before ``write(_:)`` returns. Nil for nobody.
  package func listenForVersions(_ listener: (@Sendable () -> Void)?) {
    versionListener.withLock { $0 = listener }
  }

  func tellOfVersions() { versionListener.withLock { $0 }?() }

  static func loadState(_ catalog: Catalog, _ database: StoreDatabase) throws(StoreError) -> State {
    let newest = try catalog.newestHead(in: database).entry
    var settings = try catalog.settings(in: database)
    if !settings.damaged.isEmpty {
      for (name, value) in try catalog.lostSettings(besides: settings.sound, in: database) {
        settings.sound[name] = value
        settings.damaged.removeAll { $0 == name }
      }
    }
    return State(
      head: newest?.version, headMap: newest?.map,
      lastNumber: try catalog.lastNumber(in: database), settings: settings.sound,
      damagedSettings: settings.damaged)
  }
}
