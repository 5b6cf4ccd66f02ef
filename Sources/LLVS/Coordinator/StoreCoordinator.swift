public import Foundation
internal import Synchronization

/// A store with a current version, which saving and merging move.
/// The file `Coordinator.json` of the cache directory keeps it.
/// - Concurrency: callable from any thread; saves happen one after the other.
public final class StoreCoordinator: Sendable {
  /// Unchecked: arbiters and exchanges need not be Sendable; each is called by one thread at a time.
  struct Settings: @unchecked Sendable {
    var arbiter: any MergeArbiter = MostRecentChangeFavoringArbiter()
    var metadata: Version.Metadata = [:]
    var exchange: (any Exchange)?
  }

  public let store: Store
  public let storeDirectoryURL: URL
  public let cacheDirectoryURL: URL
  /// Decides when a snapshot is made after an exchange.
  public let snapshotPolicy: SnapshotPolicy
  public let compactionPolicy: CompactionPolicy
  // A leaf lock.
  let current: Mutex<CoordinatorState>
  // Held through a save or a merge, before the store's locks.
  let saving = Mutex<Void>(())
  // A leaf lock.
  let settings = Mutex(Settings())
  // A leaf lock.
  let exchanges = Mutex(ExchangeQueue())
  private let versions = Broadcast<Version.ID>()

  /// Opens the store in a directory, or makes one; an empty store gets an empty root version.
  /// The cache directory is the store's unless given. A snapshot has all versions in the original's format.
  /// - Throws: as ``Store/init(rootDirectoryURL:)``.
  public init(
    withStoreDirectoryAt storeURL: URL, cacheDirectoryAt coordinatorCacheURL: URL? = nil,
    snapshotPolicy: SnapshotPolicy = .disabled, compactionPolicy: CompactionPolicy = .manual
  ) throws {
    storeDirectoryURL = storeURL
    cacheDirectoryURL = coordinatorCacheURL ?? storeURL
    self.snapshotPolicy = snapshotPolicy
    self.compactionPolicy = compactionPolicy
    store = try Store(rootDirectoryURL: storeURL)
    try FileManager.default.createDirectory(
      at: cacheDirectoryURL, withIntermediateDirectories: true)
    if let kept = CoordinatorState(in: cacheDirectoryURL),
      try store.version(identifiedBy: kept.currentVersionIdentifier) != nil
    {
      current = Mutex(kept)
    } else {
      let start =
        try store.mostRecentHead ?? store.makeVersion(basedOnPredecessor: nil, storing: [])
      let state = CoordinatorState(currentVersionIdentifier: start.id)
      current = Mutex(state)
      try state.write(in: cacheDirectoryURL)
    }
    store.noteCurrentVersion(currentVersion)
    compactAtStart()
  }

  /// Opens the store `LLVS/DefaultStore` in the user's directory for application data.
  /// - Throws: as the other form.
  public convenience init(
    snapshotPolicy: SnapshotPolicy = .disabled, compactionPolicy: CompactionPolicy = .manual
  ) throws {
    let support = try FileManager.default.url(
      for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
    let directory = support.appendingPathComponent("LLVS", isDirectory: true)
      .appendingPathComponent("DefaultStore", isDirectory: true)
    try self.init(
      withStoreDirectoryAt: directory, snapshotPolicy: snapshotPolicy,
      compactionPolicy: compactionPolicy)
  }

  /// Decides about conflicts; by default the value that was changed last wins.
  public var mergeArbiter: any MergeArbiter {
    get { settings.withLock { $0 }.arbiter }
    set {
      let new = Settings(arbiter: newValue)
      settings.withLock { $0.arbiter = new.arbiter }
    }
  }

  /// The metadata of new versions for which the caller gives none.
  public var defaultMetadataForNewVersions: Version.Metadata {
    get { settings.withLock { $0 }.metadata }
    set { settings.withLock { $0.metadata = newValue } }
  }

  /// The version that values are read from and that the next save is based on.
  public var currentVersion: Version.ID { current.withLock { $0.currentVersionIdentifier } }

  /// The current version, then each new one; a slow reader misses some but gets the newest.
  public var currentVersionUpdates: AsyncStream<Version.ID> {
    versions.stream(beginningWith: currentVersion)
  }

  /// The same as ``currentVersionUpdates``; the original published values under this name.
  public var currentVersionSubject: AsyncStream<Version.ID> { currentVersionUpdates }

  func move(to id: Version.ID) {
    let state = current.withLock { state in
      state.currentVersionIdentifier = id
      return state
    }
    keep(state)
    store.noteCurrentVersion(id)
    versions.yield(id)
  }

  func keep(_ state: CoordinatorState) {
    do {
      try state.write(in: cacheDirectoryURL)
    } catch {
      // The store has the versions; the next coordinator begins with the newest head.
      log.error("\(cacheDirectoryURL.path): the current version cannot be kept: \(error)")
    }
  }

  public func heads(withBranch branch: Branch) -> [Version.ID] { store.heads(withBranch: branch) }

  /// Returns the newest head of a branch; the current version without one.
  public func versionForBranchOrCurrentHead(for branch: Branch? = nil) -> Version.ID {
    branch.flatMap { heads(withBranch: $0).first } ?? currentVersion
  }

  /// Makes a version of these changes, on the newest head of the branch, and makes it the current one.
  ///
  /// The metadata is ``defaultMetadataForNewVersions`` unless given. Without changes and metadata the result
  /// is the current version.
  /// - Throws: as ``Store/makeVersion(basedOnPredecessor:inserting:updating:removing:metadata:)``.
  @discardableResult
  public func save(
    inserting inserts: [Value] = [], updating updates: [Value] = [],
    removing removals: [Value.ID] = [], in branch: Branch? = nil,
    metadata: Version.Metadata? = nil
  ) throws -> Version {
    try save(
      inserts.map { .insert($0) } + updates.map { .update($0) } + removals.map { .remove($0) },
      in: branch, metadata: metadata)
  }

  /// Makes a version of a list of changes, as the other form does.
  /// - Throws: as the other form.
  @discardableResult
  public func save(
    _ changes: [Value.Change], in branch: Branch? = nil, metadata: Version.Metadata? = nil
  ) throws -> Version {
    try saving.withLock { _ in
      if changes.isEmpty, metadata == nil {
        guard let version = try store.version(identifiedBy: currentVersion) else {
          throw Store.Error.missingVersion
        }
        return version
      }
      var metadata = metadata ?? defaultMetadataForNewVersions
      if let branch { metadata[.branch] = Version.MetadataValue(branch.rawValue) }
      let version = try store.makeVersion(
        basedOnPredecessor: versionForBranchOrCurrentHead(for: branch), storing: changes,
        metadata: metadata)
      move(to: version.id)
      return version
    }
  }

  /// Merges other heads into the current version; the result becomes the current version.
  ///
  /// With the default arbiter, selection and metadata and no branch, every store makes the same versions.
  /// Otherwise heads are merged one after the other, oldest first.
  /// - Returns: true if the current version changed.
  /// - Throws: the arbiter's error, or that of the store; earlier merges stay.
  @discardableResult
  public func merge(
    metadata: Version.Metadata? = nil,
    headSelection: Store.MergeHeadSelection = .allExceptBranches
  ) throws -> Bool {
    try saving.withLock { _ in
      let before = currentVersion
      let (arbiter, metadata) = (mergeArbiter, metadata ?? defaultMetadataForNewVersions)
      if arbiter is MostRecentChangeFavoringArbiter, metadata.isEmpty,
        headSelection == .allExceptBranches
      {
        switch try store.mergeAutomatically(into: before) {
        case .unavailable: break
        case .nothingToMerge: return false
        case .merged(let id):
          move(to: id)
          return true
        }
      }
      var hasMoved = false
      // The current version moves with each head, so that a failure keeps earlier merges.
      for head in store.headsToMerge(into: before, headSelection: headSelection) {
        let base = currentVersion
        let next = try store.merge(
          version: base, with: head, resolvingWith: arbiter, metadata: metadata
        ).id
        guard next != base else { continue }
        move(to: next)
        hasMoved = true
      }
      return hasMoved
    }
  }

  /// Returns a value at the current version; nil if it has none at that key.
  /// - Throws: ``Store/Error``.
  public func value(id: Value.ID) throws -> Value? { try store.value(id: id, at: currentVersion) }

  /// - Throws: as ``value(id:)``.
  public func value(idString: String) throws -> Value? { try value(id: Value.ID(idString)) }

  /// Returns a value at the newest head of a branch; without a head, at the current version.
  /// - Throws: ``Store/Error``.
  public func value(id: Value.ID, on branch: Branch?) throws -> Value? {
    try store.value(id: id, at: versionForBranchOrCurrentHead(for: branch))
  }

  /// - Throws: as ``value(id:on:)``.
  public func value(idString: String, on branch: Branch?) throws -> Value? {
    try value(id: Value.ID(idString), on: branch)
  }

  /// Returns the values that the current version has, in the order of the ids.
  /// - Throws: ``Store/Error``.
  public func values(ids: [Value.ID]) throws -> [Value] {
    let version = currentVersion
    return try ids.compactMap { try store.value(id: $0, at: version) }
  }

  /// Returns all values of a version, by default the current one.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func values(at version: Version.ID? = nil) throws -> [Value] {
    let version = version ?? currentVersion
    return try store.valueReferences(at: version).compactMap { reference in
      try store.value(id: reference.valueId, at: version)
    }
  }

  /// Returns the references of all values of a version, by default the current one.
  /// - Throws: ``Store/Error/missingVersion``; the error of a damaged store.
  public func valueReferences(at version: Version.ID? = nil) throws -> [Value.Reference] {
    try store.valueReferences(at: version ?? currentVersion)
  }
}
