package import Platform
internal import Synchronization

/// A versioned store of values in a directory.
///
///     STORE/lock          held for life by the one writer; its text is the writer's process id
///     STORE/readers       share-locked by every reader
///     STORE/store.sqlite  versions, heads, settings, peers (``Catalog``)
///     STORE/index.sqlite  rebuildable: locations of chunks, changes of keys
///     STORE/segments/     chunks and map nodes (``RecordStore``)
/// - Concurrency: callable from any thread. Lock order: write lock, catalog's writer, record
///   store's writer, published state; the last two are never held while calling out.
package final class Store: Sendable {
  /// The committed state, equal for every thread.
  package struct State: Sendable {
    /// The version that the live tree continues from.
    package var head: VersionNumber?
    /// The live tree's map: the head's entries with the local inode numbers of the live tree.
    package var headMap: MapRoot?
    package var lastNumber: UInt32
    package var settings: [String: [UInt8]]
    /// The names of omitted settings, whose rows are damaged.
    package var damagedSettings: [String] = []
    /// A sentence without its period for each repair or loss in the catalog at opening.
    package var mended: [String] = []
  }

  /// The store's directory, with symbolic links resolved.
  package let path: String
  package let mode: AccessMode
  /// 16 bytes that name the store; its copies have the same.
  package let storeID: [UInt8]
  /// The id of this copy of the store; `cp -a` and ``renewReplica()`` give a copy another id.
  package var replicaID: String { replica.withLock { $0 } }

  package let catalog: Catalog
  let records: RecordStore
  package let contents: ContentStore
  let index: Index
  package let graph: VersionGraph
  package let nodeCache: NodeCache
  let history: StoreHistory
  let conflictCache = ConflictCache()
  let counters: Counters
  let lockFile: File
  /// Locked while the store is open; nil for a reader.
  let directoryLock: File?
  let openedFiles: OpenedFiles?
  /// The copies of the databases to read instead of the store's own; usually nil.
  private let copy: ReadableCopy?

  // Held during a write transaction, I/O included. It guards the version that this process committed last.
  let writeLock = Mutex<VersionRecord?>(nil)
  // Leaf locks.
  let published: Mutex<State>
  let replica: Mutex<String>
  /// The version whose values were read last; a leaf lock.
  let lastAsked = Mutex<VersionRecord?>(nil)
  /// A leaf lock, not held while the listeners are called.
  let versionListeners = Mutex<[ListenerID: @Sendable () -> Void]>([:])

  init(
    path: String, mode: AccessMode, storeID: [UInt8], replicaID: String, catalog: Catalog,
    records: RecordStore, index: Index, lockFile: File, directoryLock: File?, copy: ReadableCopy?,
    state: State
  ) throws(StoreError) {
    self.path = path
    self.mode = mode
    self.storeID = storeID
    replica = Mutex(replicaID)
    self.catalog = catalog
    self.records = records
    self.index = index
    counters = try Counters(catalog: catalog)
    self.lockFile = lockFile
    self.directoryLock = directoryLock
    openedFiles = try mode == .writer ? OpenedFiles(of: path) : nil
    self.copy = copy
    nodeCache = records.mapNodes
    contents = ContentStore(records: records, index: index, repairs: mode == .writer)
    history = StoreHistory(catalog: catalog, nodes: records, contents: contents, cache: nodeCache)
    graph = VersionGraph(source: history)
    published = Mutex(state)
  }

  deinit { index.flush() }

  /// Leaves the files as closing does: the catalog's log is empty, the index complete, and the segment ends with
  /// its last record.
  ///
  /// For a process that exits without releasing this object. The store remains usable; if a step fails, the next
  /// process that opens the store repeats it.
  package func settle() {
    guard mode == .writer else { return }
    index.flush()
    catalog.emptyLog()
    records.trim()
  }

  /// Changes the length at which a new segment begins from 256 MiB, for tests.
  package func limitSegments(to bytes: UInt64) { records.limitSegments(to: bytes) }

  /// Returns the current committed state; a reader sees commits of other processes.
  package func state() throws(StoreError) -> State {
    guard mode == .reader else { return published.withLock { $0 } }
    var state = try catalog.read { (database) throws(StoreError) in try Store.loadState(database) }
    state.mended = published.withLock { $0.mended }
    return state
  }

  /// The number of the newest version that this writer committed or found; 0 if there is none.
  package var lastNumber: UInt32 { published.withLock { $0.lastNumber } }

  package struct ListenerID: Hashable, Sendable { fileprivate var number: UInt64 }

  /// Adds a listener for new versions, called on the committing thread before ``write(_:)`` returns.
  package func listenForVersions(_ listener: @escaping @Sendable () -> Void) -> ListenerID {
    versionListeners.withLock { listeners in
      let id = ListenerID(number: (listeners.keys.map(\.number).max() ?? 0) + 1)
      listeners[id] = listener
      return id
    }
  }

  /// Removes a listener; a call to it may still be running.
  package func stopListening(_ id: ListenerID) { versionListeners.withLock { $0[id] = nil } }

  static func loadState(_ database: StoreDatabase) throws(StoreError) -> State {
    let newest = try database.newestHead().entry
    var settings = try database.settings()
    if !settings.damaged.isEmpty {
      for (name, value) in try database.lostSettings(besides: settings.sound) {
        settings.sound[name] = value
        settings.damaged.removeAll { $0 == name }
      }
    }
    return State(
      head: newest?.version, headMap: newest?.map,
      lastNumber: try database.lastNumber(), settings: settings.sound,
      damagedSettings: settings.damaged)
  }

  /// Returns what the owners of the store may make this process do.
  package func ownerTrust() throws(StoreError) -> OwnerTrust {
    try StoreError.wrapping { () throws(SystemError) in
      // Checks the opened directory, even if another one has its path now.
      let opened = try directoryLock.map { (file) throws(SystemError) in try file.status() }
      let directory = if let opened { opened } else { try FileSystem.status(path) }
      let catalog = try FileSystem.status("\(path)/store.sqlite")
      return OwnerTrust(owners: [directory.uid, catalog.uid])
    }
  }

  private static let formerSetting = "replica.former"

  /// The ids that the store had before ``renewReplica()``.
  package func formerReplicaIDs() throws(StoreError) -> [String] {
    let text = try state().settings[Store.formerSetting] ?? []
    return String(decoding: text, as: UTF8.self).split(separator: " ").map(String.init)
  }

  /// Gives this copy of the store another id, so that later versions have another writer.
  ///
  /// A copied or restored store gets one when it is opened. This is for a machine that was set back while the store
  /// was open: the versions that it lost may exist elsewhere with the same writer.
  package func renewReplica() throws(StoreError) -> String {
    guard mode == .writer else { throw .readOnly }
    let former = try formerReplicaIDs() + [replicaID]
    try write { (transaction) throws(StoreError) in
      transaction.set(Store.formerSetting, to: Array(former.joined(separator: " ").utf8))
    }
    let renewed = Store.newReplicaID()
    try catalog.write { (database) throws(StoreError) in
      try database.setProperty("replica", Array(renewed.utf8))
    }
    replica.withLock { $0 = renewed }
    return renewed
  }

  /// Checks that the files of this store are at their paths; does nothing for a reader, which can lose nothing.
  package func checkPresence() throws(StoreError) { try openedFiles?.check() }
}

/// The files that a store was opened with; removed ones are lost with the last descriptor.
struct OpenedFiles: Sendable {
  private let directory: String
  private let places: [(path: String, file: FileStatus.Identity)]

  init(of directory: String) throws(StoreError) {
    self.directory = directory
    places = try StoreError.translating(
      try ["", "/store.sqlite", "/segments"].map { (name) throws(SystemError) in
        (path: directory + name, file: try FileSystem.status(directory + name).identity)
      })
  }

  func check() throws(StoreError) {
    for place in places {
      do throws(SystemError) {
        if try FileSystem.status(place.path).identity == place.file { continue }
      } catch {
        guard error.isAbsence else { throw .system(error) }
      }
      throw .notFound(
        "store in \(directory) any more: \(place.path) was removed, moved or replaced, and what is "
          + "still shown goes when this process ends")
    }
  }
}
