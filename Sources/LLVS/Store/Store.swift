public import Foundation
internal import Synchronization

/// A store of versions; each version holds values under keys.
///
/// Any number of objects, in any number of processes, can open one directory; writers take turns.
/// The history is that of the opening, the last write or the last ``reloadHistory()``.
/// - Concurrency: callable from any thread.
public final class Store: Sendable {
  public let rootDirectoryURL: URL
  let backend: any StoreBackend
  private let format: Format

  /// Unchecked: a storage is used once, when the store is opened.
  private struct Format: @unchecked Sendable { var storage: (any Storage)? }

  private struct Loaded {
    var heads: [HistoryHead]
    /// The version that a coordinator is at.
    var current: Version.ID?
    /// True if this object has added versions since the heads were read.
    var isStale = false
    /// Damage found by a function that cannot throw.
    var damage: (any Swift.Error)?
  }

  // Held while heads are read; acquired before the backend's locks.
  private let loaded: Mutex<Loaded>

  /// Opens the store in a directory, or makes one if the directory is missing or empty.
  /// A store of the original is opened in place; a new one has the engine's own format.
  /// - Parameter rootDirectoryURL: a directory on a local file system.
  /// - Throws: ``Store/Error/invalid(_:)``, ``Store/Error/exists(_:)``, ``Store/Error/corrupt(_:)``.
  public convenience init(rootDirectoryURL: URL) throws {
    let directory = try Store.madeDirectory(rootDirectoryURL)
    switch Store.kind(of: directory) {
    case .files: try self.init(rootDirectoryURL: directory, storage: FileStorage())
    case .sqlite: try self.init(rootDirectoryURL: directory, storage: SQLiteStorage())
    case .engine, .none:
      try self.init(
        rootDirectoryURL: directory, backend: EngineBackend(path: directory.path), storage: nil)
    }
  }

  /// Opens or makes a store in one of the original's formats, or in one of the program's own.
  /// - Throws: ``Store/Error/exists(_:)`` if the directory has a store in the engine's format; as
  ///   ``init(rootDirectoryURL:)``.
  public convenience init(rootDirectoryURL: URL, storage: any Storage) throws {
    let directory = try Store.madeDirectory(rootDirectoryURL)
    guard Store.kind(of: directory) != .engine else {
      throw Error.exists("\(directory.path) holds a store in another format; open it without one")
    }
    let backend = ZoneBackend(
      versions: directory.appendingPathComponent("versions"),
      isDurable: (storage as? FileStorage)?.isDurable ?? true)
    try self.init(rootDirectoryURL: directory, backend: backend, storage: storage)
    for made in [versionsDirectoryURL, valuesDirectoryURL, valuesMapDirectoryURL] {
      try FileManager.default.createDirectory(at: made, withIntermediateDirectories: true)
    }
    try backend.attach(
      values: try storage.makeValuesZone(in: self),
      map: try storage.makeMapZone(for: .valuesByVersion, in: self))
    try reloadHistory()
  }

  private init(rootDirectoryURL: URL, backend: any StoreBackend, storage: (any Storage)?) throws {
    self.rootDirectoryURL = rootDirectoryURL
    self.backend = backend
    format = Format(storage: storage)
    // A backend without its zones has no versions yet.
    loaded = Mutex(Loaded(heads: storage == nil ? try backend.heads(at: nil) : []))
  }

  private enum Kind { case engine, files, sqlite, none }

  private static func kind(of directory: URL) -> Kind {
    func has(_ name: String) -> Bool {
      FileManager.default.fileExists(atPath: directory.appendingPathComponent(name).path)
    }
    if has("store.sqlite") { return .engine }
    if has("values/zone.sqlite") { return .sqlite }
    return has("versions") && has("maps") ? .files : .none
  }

  private static func madeDirectory(_ url: URL) throws -> URL {
    guard url.isFileURL else {
      throw Error.invalid("\(url.absoluteString) is not the URL of a file")
    }
    let directory = url.standardizedFileURL
    try FileManager.default.createDirectory(
      at: directory.deletingLastPathComponent(), withIntermediateDirectories: true)
    return directory
  }

  /// The format of the store; nil for the engine's own.
  public var storage: (any Storage)? { format.storage }
  public var versionsDirectoryURL: URL { below("versions") }
  public var valuesDirectoryURL: URL { below("values") }
  public var mapsDirectoryURL: URL { below("maps") }
  public var valuesMapDirectoryURL: URL { below("maps/__llvs_values") }

  private func below(_ name: String) -> URL {
    rootDirectoryURL.appendingPathComponent(name, isDirectory: true)
  }

  /// Updates the history with the versions that other objects and other processes have stored.
  /// - Throws: the damage in the store, including that found by functions that cannot throw.
  public func reloadHistory() throws {
    try backend.reload()
    let damage = try loaded.withLock { loaded in
      let (heads, damage) = (try backend.heads(at: loaded.current), loaded.damage)
      loaded = Loaded(heads: heads, current: loaded.current)
      return damage
    }
    if let damage { throw damage }
  }

  var heads: [HistoryHead] {
    loaded.withLock { loaded in
      guard loaded.isStale else { return loaded.heads }
      do {
        loaded.heads = try backend.heads(at: loaded.current)
        loaded.isStale = false
      } catch {
        loaded.damage = error
      }
      return loaded.heads
    }
  }

  func noteNewVersions() { loaded.withLock { $0.isStale = true } }

  /// The version that a coordinator is at.
  var currentVersion: Version.ID? { loaded.withLock { $0.current } }

  func noteCurrentVersion(_ id: Version.ID) {
    loaded.withLock { ($0.current, $0.isStale) = (id, true) }
  }

  /// Returns the body's result, or the fallback if it fails; ``reloadHistory()`` reports the failure.
  func answer<Result>(or fallback: Result, _ body: () throws -> Result) -> Result {
    do {
      return try body()
    } catch {
      loaded.withLock { $0.damage = error }
      log.error("A version cannot be read: \(error)")
      return fallback
    }
  }

  func mergeAutomatically(into version: Version.ID) throws -> AutomaticMerge {
    defer { noteNewVersions() }
    return try backend.mergeAutomatically(into: version)
  }

  @discardableResult
  public func queryHistory<Result>(in body: (History) throws -> Result) rethrows -> Result {
    try body(History(store: self, heads: heads))
  }

  public func historyIncludesVersions(identifiedBy versionIdentifiers: [Version.ID]) -> Bool {
    answer(or: false) { try versionIdentifiers.allSatisfy { try backend.contains($0) } }
  }

  /// - Throws: the error of a damaged store.
  public func version(identifiedBy versionId: Version.ID) throws -> Version? {
    try backend.version(versionId)
  }

  /// The newest version without a successor, by timestamp; nil in an empty store.
  public var mostRecentHead: Version? { queryHistory { $0.mostRecentHead } }
  public var hasMultipleHeads: Bool { heads.count > 1 }

  /// Returns the heads whose metadata names a branch, newest first.
  public func heads(withBranch branch: Branch) -> [Version.ID] {
    heads.filter { $0.branch == branch }.map(\.id)
  }

  /// Returns the versions that stored bytes under a key, newest first.
  /// - Throws: the error of a damaged store.
  public func versionIds(for valueId: Value.ID) throws -> [Version.ID] {
    try backend.versionIDs(storing: valueId)
  }

  /// Returns a value at a version; nil if the version has none at that key.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func value(id valueId: Value.ID, at versionId: Version.ID) throws -> Value? {
    try backend.value(valueId, at: versionId)
  }

  /// - Throws: as ``value(id:at:)``.
  public func value(idString valueIdString: String, at versionId: Version.ID) throws -> Value? {
    try value(id: Value.ID(valueIdString), at: versionId)
  }

  /// Returns the value that a version stored; nil if it stored none at that key, or does not exist.
  /// - Throws: the error of a damaged store.
  public func value(id valueId: Value.ID, storedAt versionId: Version.ID) throws -> Value? {
    try backend.value(valueId, storedAt: versionId)
  }

  /// - Throws: as ``value(id:storedAt:)``.
  public func value(storedAt valueReference: Value.Reference) throws -> Value? {
    try value(id: valueReference.valueId, storedAt: valueReference.storedVersionId)
  }

  /// Returns the reference of a value at a version; nil if the version has none at that key.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueReference(
    id valueId: Value.ID, at versionId: Version.ID
  ) throws -> Value.Reference? {
    try backend.reference(valueId, at: versionId)
  }

  /// Returns the references of all values of a version.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueReferences(at versionId: Version.ID) throws -> [Value.Reference] {
    try backend.references(at: versionId)
  }

  /// Calls the body with the reference of each value of a version.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store; that of the body.
  public func enumerate(
    version versionId: Version.ID, executingForEach block: (Value.Reference) throws -> Void
  ) throws {
    for reference in try backend.references(at: versionId) { try block(reference) }
  }

  /// Returns the changes that a version makes to the values of its first predecessor.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueChanges(
    madeInVersionIdentifiedBy versionId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(madeIn: versionId)
  }

  /// Returns the inserts, updates and removals that turn the values of any version into another's.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueChanges(
    madeBetween firstId: Version.ID, and secondId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(from: firstId, to: secondId)
  }

  /// - Throws: as ``valueChanges(madeBetween:and:)``, which returns the same.
  public func valueChanges(
    updatingFrom firstId: Version.ID, to secondId: Version.ID
  ) throws -> [Value.Change] {
    try backend.changes(from: firstId, to: secondId)
  }
}
