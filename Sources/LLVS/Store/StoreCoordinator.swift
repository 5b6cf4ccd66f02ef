public import Foundation
internal import Synchronization

/// A store and the version that a program is at: saving moves it on, merging brings other heads in.
///
/// The current version is remembered in the store and taken up again when it is next opened.
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

  /// Opens the store in a directory, or makes one; an empty store gets an empty root version.
  ///
  /// - Parameter storeURL: a directory on a local file system.
  /// - Throws: ``StoreError/busy(_:)`` if another process holds the store.
  public init(withStoreDirectoryAt storeURL: URL) throws {
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

  /// The version that values are read at and that the next save is based on.
  public var currentVersion: Version.ID { current.withLock { $0 } }

  /// Makes a version of these changes and makes it the current one.
  ///
  /// With a branch it is based on the newest head of that branch, where there is one.
  ///
  /// - Parameters:
  ///   - insertedValues: values that are new.
  ///   - updatedValues: values with new bytes.
  ///   - removedIds: keys whose values go away.
  ///   - branch: the line that the version is on.
  ///   - metadata: what is said of the version.
  /// - Returns: the version that was made.
  /// - Throws: what making a version throws.
  @discardableResult
  public func save(
    inserting insertedValues: [Value] = [], updating updatedValues: [Value] = [],
    removing removedIds: [Value.ID] = [], in branch: Branch? = nil,
    metadata: Version.Metadata = [:]
  ) throws -> Version {
    try save(
      insertedValues.map { .insert($0) } + updatedValues.map { .update($0) }
        + removedIds.map { .remove($0) }, in: branch, metadata: metadata)
  }

  /// Makes a version of a list of changes and makes it the current one.
  @discardableResult
  public func save(
    _ changes: [Value.Change], in branch: Branch? = nil, metadata: Version.Metadata = [:]
  ) throws -> Version {
    try saving.withLock { _ in
      var metadata = metadata
      var base = currentVersion
      if let branch {
        metadata[.branch] = Version.MetadataValue(branch.rawValue)
        base = try store.heads(withBranch: branch).last?.id ?? base
      }
      let version = try store.write { (transaction) throws(StoreError) in
        let record = try transaction.makeVersion(
          basedOn: Version.Predecessors(idOfFirst: base), storing: changes, metadata: metadata)
        transaction.set(StoreCoordinator.setting, to: Array(record.id.rawValue.utf8))
        return record
      }
      current.withLock { $0 = version.id }
      return try store.version(from: version)
    }
  }

  /// Returns a value at the current version; nil if it has none at that key.
  public func value(id: Value.ID) throws(StoreError) -> Value? {
    try store.value(id: id, at: currentVersion)
  }

  /// Returns a value, by the text of its key, at the current version.
  public func value(idString: String) throws(StoreError) -> Value? {
    try value(id: Value.ID(idString))
  }

  /// Returns the values at the current version that are there, in the order asked for.
  public func values(ids: [Value.ID]) throws(StoreError) -> [Value] {
    var values: [Value] = []
    for id in ids {
      if let value = try value(id: id) { values.append(value) }
    }
    return values
  }

  /// Returns the references of all values at the current version.
  public func valueReferences() throws(StoreError) -> [Value.Reference] {
    try store.valueReferences(at: currentVersion)
  }

  /// Merges the heads of the current version's line; the result becomes the current version.
  ///
  /// - Returns: whether the current version changed.
  @discardableResult
  public func merge() throws -> Bool {
    try saving.withLock { _ in
      let before = currentVersion
      let merged = try store.write { (transaction) throws(StoreError) -> Version.ID? in
        guard let live = try transaction.version(before) else { throw .missingVersion(before) }
        let line =
          live.line == VersionRecord.unnamedLine ? nil : Branch(rawValue: live.line)
        let report = try transaction.mergeHeads(ofLine: line, live: live.number)
        guard let outcome = report.outcome, let record = try transaction.version(outcome) else {
          return nil
        }
        transaction.set(StoreCoordinator.setting, to: Array(record.id.rawValue.utf8))
        return record.id
      }
      guard let merged, merged != before else { return false }
      current.withLock { $0 = merged }
      return true
    }
  }
}
