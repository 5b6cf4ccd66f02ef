internal import Foundation

/// A version that is no known version's predecessor.
struct HistoryHead: Sendable {
  var id: Version.ID
  var timestamp: Double
  var branch: Branch?
}

/// A merge that waits for an arbiter, or the version of two that need none.
enum MergePlan {
  case fastForward(Version)
  /// The merge, and the function that makes its version from the arbiter's changes.
  case merge(Merge, make: ([Value.Change]) throws -> Version)
}

enum AutomaticMerge {
  /// These heads have to be merged with an arbiter.
  case unavailable
  case nothingToMerge
  case merged(Version.ID)
}

/// The storage of a ``Store``'s versions: the engine's format, or one of the original's.
/// - Concurrency: callable from any thread.
protocol StoreBackend: AnyObject, Sendable {
  /// Reads what other processes have stored.
  func reload() throws
  /// Newest first; a head that another contains is listed only if a program is at it.
  func heads(at current: Version.ID?) throws -> [HistoryHead]
  /// Newest first, each after all its descendants.
  func forEachVersionID(_ body: (Version.ID) -> Void) throws
  /// Nil if the version does not exist; one that another process has added is found.
  func version(_ id: Version.ID) throws -> Version?
  func contains(_ id: Version.ID) throws -> Bool
  /// The newest one that is no ancestor of another one.
  func commonAncestor(of first: Version.ID, and second: Version.ID) throws -> Version.ID?

  func makeVersion(
    basedOn predecessors: Version.Predecessors?, storing changes: [Value.Change],
    metadata: Version.Metadata
  ) throws -> Version

  /// Adds versions whose predecessors exist, and returns the others with the reasons.
  func add(_ versions: [VersionChanges]) throws -> [Version.ID: Store.Error]
  func value(_ id: Value.ID, at version: Version.ID) throws -> Value?
  func value(_ id: Value.ID, storedAt version: Version.ID) throws -> Value?
  func reference(_ id: Value.ID, at version: Version.ID) throws -> Value.Reference?
  func references(at version: Version.ID) throws -> [Value.Reference]
  /// The versions that stored bytes under a key, newest first.
  func versionIDs(storing id: Value.ID) throws -> [Version.ID]
  func changes(madeIn version: Version.ID) throws -> [Value.Change]
  func changes(from first: Version.ID, to second: Version.ID) throws -> [Value.Change]

  func planMerge(
    of first: Version.ID, with second: Version.ID, metadata: Version.Metadata,
    isUnrelatedAllowed: Bool
  ) throws -> MergePlan

  /// The versions that `known` lacks, predecessors first.
  func versionIDs(missingAmong known: Set<Version.ID>) throws -> [Version.ID]
  /// The changes that turn the first predecessor's values into the version's.
  func changesToSend(of version: Version.ID) throws -> [Value.Change]
  /// Forgets the bytes of versions before a date, and keeps the newest `count` versions, the current one, and what heads
  /// and merges need. Returns the oldest kept version; nil if nothing was forgotten.
  func compact(
    before date: Date, keeping count: Int, current: Version.ID?
  ) throws -> Version.ID?
  func compressedVersionIDs() throws -> Set<Version.ID>
  /// Merges all heads without a branch into a version; every store makes the same versions.
  func mergeAutomatically(into version: Version.ID) throws -> AutomaticMerge
}

extension StoreBackend {
  /// The ids of the versions that `known` lacks, predecessors first, with the bytes of their values.
  func sizesToSend(missingAmong known: Set<Version.ID>) throws -> [(id: Version.ID, size: Int64?)] {
    try versionIDs(missingAmong: known).map { ($0, try version($0)?.valueDataSize) }
  }

  func versionToSend(_ id: Version.ID) throws -> VersionChanges? {
    try version(id).map { ($0, try changesToSend(of: id)) }
  }
}
