public import Foundation
public import LLVSCore
internal import Synchronization

/// A store together with a current version: saving makes a new current version, merging brings
/// other heads into it.
///
/// The store remembers the current version, so the next coordinator of the store begins with it.
///
/// - Concurrency: callable from any thread; saves happen one after the other.
public final class StoreCoordinator: Sendable {
  /// The store.
  public let store: Store

  private static let setting = "coordinator.currentVersion"
  // A leaf lock.
  private let current: Mutex<Version.ID>
  // Held through a save or a merge, before the store's write lock.
  private let saving = Mutex<Void>(())

  private struct Defaults {
    var arbiter: any MergeArbiter = MostRecentChangeFavoringArbiter()
    var metadata: Version.Metadata = [:]
  }

  /// Unchecked: arbiters need not be Sendable, as in the original; one is called by one merge at a
  /// time.
  private struct DefaultsBox: @unchecked Sendable {
    var value = Defaults()
  }

  // A leaf lock.
  private let defaults = Mutex(DefaultsBox())
  // A leaf lock.
  let exchanging = Mutex(Exchanging())

  /// The streams that get each new current version. A leaf lock.
  private let followers = Mutex<[UUID: AsyncStream<Version.ID>.Continuation]>([:])

  /// The directory that the caller gave for caches. Nothing is kept there: everything is in the
  /// store.
  public let cacheDirectoryURL: URL

  /// Decides about conflicts in ``merge(metadata:headSelection:)``; by default the value that was
  /// changed last wins.
  public var mergeArbiter: any MergeArbiter {
    get { defaults.withLock { $0 }.value.arbiter }
    set {
      var box = DefaultsBox()
      box.value.arbiter = newValue
      let new = box
      defaults.withLock { $0.value.arbiter = new.value.arbiter }
    }
  }

  /// The metadata of new versions for which the caller gives none.
  public var defaultMetadataForNewVersions: Version.Metadata {
    get { defaults.withLock { $0 }.value.metadata }
    set { defaults.withLock { $0.value.metadata = newValue } }
  }

  /// Opens the store in a directory, or makes one; an empty store gets an empty root version.
  ///
  /// - Parameters:
  ///   - storeURL: a directory on a local file system.
  ///   - coordinatorCacheURL: accepted because the original accepts it; the store keeps everything.
  /// - Throws: ``StoreError/busy(_:)`` if another process holds the store.
  public init(
    withStoreDirectoryAt storeURL: URL, cacheDirectoryAt coordinatorCacheURL: URL? = nil
  ) throws {
    cacheDirectoryURL = coordinatorCacheURL ?? storeURL
    store = try Store(rootDirectoryURL: storeURL)
    let remembered = try store.state().settings[StoreCoordinator.setting]
      .map { Version.ID(String(decoding: $0, as: UTF8.self)) }
    let start: Version.ID
    if let remembered, try store.version(identifiedBy: remembered) != nil {
      start = remembered
    } else if let head = try store.mostRecentHead {
      start = head.id
    } else {
      start = try store.makeVersion(basedOnPredecessor: nil, storing: []).id
    }
    current = Mutex(start)
  }

  /// Opens the store `LLVS/DefaultStore` in the user's directory for application data.
  ///
  /// - Throws: as ``init(withStoreDirectoryAt:cacheDirectoryAt:)``.
  public convenience init() throws {
    let support = try FileManager.default.url(
      for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
    let directory = support.appendingPathComponent("LLVS", isDirectory: true)
      .appendingPathComponent("DefaultStore", isDirectory: true)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try self.init(withStoreDirectoryAt: directory)
  }

  /// The store's directory.
  public var storeDirectoryURL: URL { store.rootDirectoryURL }

  /// The version that values are read from and that the next save is based on.
  public var currentVersion: Version.ID { current.withLock { $0 } }

  /// The current version, then each new one; a slow reader misses some and gets the newest.
  public var currentVersions: AsyncStream<Version.ID> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Version.ID.self, bufferingPolicy: .bufferingNewest(1))
    let id = UUID()
    continuation.onTermination = { [weak self] _ in
      _ = self?.followers.withLock { $0.removeValue(forKey: id) }
    }
    followers.withLock { $0[id] = continuation }
    continuation.yield(currentVersion)
    return stream
  }

  private func move(to id: Version.ID) {
    current.withLock { $0 = id }
    for follower in followers.withLock({ Array($0.values) }) { follower.yield(id) }
  }

  // MARK: Branches

  /// Returns the heads of a branch, oldest first.
  public func heads(withBranch branch: Branch) throws(StoreError) -> [Version.ID] {
    try store.heads(withBranch: branch).map(\.id)
  }

  /// Returns the newest head of a branch; the current version without a branch, or if it has no
  /// head.
  public func versionForBranchOrCurrentHead(
    for branch: Branch? = nil
  ) throws(StoreError) -> Version.ID {
    guard let branch else { return currentVersion }
    return try heads(withBranch: branch).last ?? currentVersion
  }

  // MARK: Saving

  /// Makes a version of these changes and makes it the current one.
  ///
  /// With a branch, the version is based on the newest head of that branch, if there is one.
  ///
  /// - Parameters:
  ///   - insertedValues: values that are new.
  ///   - updatedValues: values with new bytes.
  ///   - removedIds: keys whose values are removed.
  ///   - branch: the line that the version is on.
  ///   - metadata: the version's metadata; ``defaultMetadataForNewVersions`` unless given.
  /// - Returns: the new version; the current one if there is nothing to save.
  /// - Throws: the error of making a version.
  @discardableResult
  public func save(
    inserting insertedValues: [Value] = [], updating updatedValues: [Value] = [],
    removing removedIds: [Value.ID] = [], in branch: Branch? = nil,
    metadata: Version.Metadata? = nil
  ) throws -> Version {
    try save(
      insertedValues.map { .insert($0) } + updatedValues.map { .update($0) }
        + removedIds.map { .remove($0) }, in: branch, metadata: metadata)
  }

  /// Makes a version of a list of changes and makes it the current one; without changes and without
  /// metadata it makes none and returns the current one.
  @discardableResult
  public func save(
    _ changes: [Value.Change], in branch: Branch? = nil, metadata: Version.Metadata? = nil
  ) throws -> Version {
    try saving.withLock { _ in
      if changes.isEmpty, metadata == nil {
        guard let current = try store.version(identifiedBy: currentVersion) else {
          throw StoreError.missingVersion(currentVersion)
        }
        return current
      }
      var metadata = metadata ?? defaultMetadataForNewVersions
      if let branch { metadata[.branch] = Version.MetadataValue(branch.rawValue) }
      let base = try versionForBranchOrCurrentHead(for: branch)
      let planned = metadata
      let version = try store.write { (transaction) throws(StoreError) in
        let record = try transaction.makeVersion(
          basedOn: Version.Predecessors(idOfFirst: base), storing: changes, metadata: planned)
        transaction.set(StoreCoordinator.setting, to: Array(record.id.rawValue.utf8))
        return record
      }
      move(to: version.id)
      return try store.version(from: version)
    }
  }

  // MARK: Reading

  /// Returns a value at the current version; nil if it has none at that key.
  public func value(id: Value.ID) throws(StoreError) -> Value? {
    try store.value(id: id, at: currentVersion)
  }

  /// Returns the value at the current version whose key has this text.
  public func value(idString: String) throws(StoreError) -> Value? {
    try value(id: Value.ID(idString))
  }

  /// Returns those of the values that the current version has, in the order of the ids.
  public func values(ids: [Value.ID]) throws(StoreError) -> [Value] {
    var values: [Value] = []
    for id in ids {
      if let value = try value(id: id) { values.append(value) }
    }
    return values
  }

  /// Returns all values of a version, by default the current one, in the order of their keys.
  public func values(at version: Version.ID? = nil) throws(StoreError) -> [Value] {
    let version = version ?? currentVersion
    var values: [Value] = []
    for reference in try store.valueReferences(at: version) {
      if let value = try store.value(id: reference.valueId, at: version) { values.append(value) }
    }
    return values
  }

  /// Returns the value whose key has this text, as ``value(id:on:)`` does.
  public func value(idString: String, on branch: Branch?) throws(StoreError) -> Value? {
    try value(id: Value.ID(idString), on: branch)
  }

  /// Returns a value at the newest head of a branch, or at the current version if the branch has no
  /// head.
  public func value(id: Value.ID, on branch: Branch?) throws(StoreError) -> Value? {
    try store.value(id: id, at: try versionForBranchOrCurrentHead(for: branch))
  }

  /// Returns the references of all values of a version, by default the current one.
  public func valueReferences(
    at version: Version.ID? = nil
  ) throws(StoreError) -> [Value.Reference] {
    try store.valueReferences(at: version ?? currentVersion)
  }

  // MARK: Merging

  /// Merges other heads into the current version; the result becomes the current version.
  ///
  /// With the default arbiter, without metadata, with the default selection and a current version
  /// on no branch, the merges are automatic: every store that merges the same heads makes the same
  /// versions. Otherwise they are authored, as in the original: one head after the other, oldest
  /// first.
  ///
  /// - Parameters:
  ///   - metadata: the metadata of the merges; ``defaultMetadataForNewVersions`` unless given.
  ///   - headSelection: the heads to merge; by default all but those of branches.
  /// - Returns: true if the current version changed.
  /// - Throws: the arbiter's error, or one of reading or writing the store; earlier merges stay.
  @discardableResult
  public func merge(
    metadata: Version.Metadata? = nil,
    headSelection: Store.MergeHeadSelection = .allExceptBranches
  ) throws -> Bool {
    try saving.withLock { _ in
      let before = currentVersion
      let (arbiter, metadata) = (mergeArbiter, metadata ?? defaultMetadataForNewVersions)
      guard let live = try store.version(before) else { throw StoreError.missingVersion(before) }
      let merged =
        if arbiter is MostRecentChangeFavoringArbiter, metadata.isEmpty,
          headSelection == .allExceptBranches, live.line == VersionRecord.unnamedLine
        {
          try mergeAutomatically(live)
        } else {
          try store.mergeHeads(
            into: before, resolvingWith: arbiter, headSelection: headSelection,
            metadata: metadata)
        }
      guard let merged, merged != before else { return false }
      try store.write { (transaction) throws(StoreError) in
        transaction.set(StoreCoordinator.setting, to: Array(merged.rawValue.utf8))
      }
      move(to: merged)
      return true
    }
  }

  private func mergeAutomatically(_ live: VersionRecord) throws -> Version.ID? {
    var (isWhole, outcome) = (false, Version.ID?.none)
    while !isWhole {
      try store.write { (transaction) throws(StoreError) in
        let report = try transaction.mergeHeads(
          ofLine: nil, live: live.number, upTo: WriteTransaction.mergedAtOnce)
        isWhole = report.isWhole
        outcome = try report.outcome.flatMap { (number) throws(StoreError) in
          try transaction.version(number)?.id
        }
      }
    }
    return outcome
  }
}
