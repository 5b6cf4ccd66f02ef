/// A version that no known version names as its predecessor.
struct HistoryHead: Sendable {
  var id: Version.ID
  var timestamp: Double
  /// The branch that its metadata names.
  var branch: Branch?
}

/// A merge that waits for an arbiter, or the version that needs none.
enum MergePlan {
  case fastForward(Version)
  /// The merge, and the function that makes its version from the arbiter's changes.
  case merge(Merge, make: ([Value.Change]) throws -> Version)
}

/// The outcome of merging heads in the way in which every store makes the same versions.
enum AutomaticMerge {
  /// These heads have to be merged with an arbiter.
  case unavailable
  case nothingToMerge
  case merged(Version.ID)
}

/// The storage of a ``Store``'s versions: the engine's format, or one of the original's.
///
/// - Concurrency: callable from any thread.
protocol StoreBackend: AnyObject, Sendable {
  /// Takes notice of what other processes have stored.
  func reload() throws

  /// The versions without a successor, newest first.
  func heads() throws -> [HistoryHead]

  /// Calls the body with each version's id, newest first, each after all its descendants.
  func forEachVersionID(_ body: (Version.ID) -> Void) throws

  /// Returns a version with its successors; nil if there is none.
  func version(_ id: Version.ID) throws -> Version?

  /// Returns true if there is such a version.
  func contains(_ id: Version.ID) throws -> Bool

  /// Returns the newest common ancestor that is no ancestor of another one; nil if there is none.
  func commonAncestor(of first: Version.ID, and second: Version.ID) throws -> Version.ID?

  /// Makes a version from changes of its first predecessor's values.
  func makeVersion(
    basedOn predecessors: Version.Predecessors?, storing changes: [Value.Change],
    metadata: Version.Metadata
  ) throws -> Version

  /// Adds versions that were made elsewhere, as far as their predecessors are there.
  ///
  /// - Returns: those that were not added, with the reasons.
  func add(_ versions: [VersionChanges]) throws -> [Version.ID: Store.Error]

  /// Returns a value at a version; nil if the version has none at that key.
  func value(_ id: Value.ID, at version: Version.ID) throws -> Value?

  /// Returns a value that a version stored; nil if it stored none at that key.
  func value(_ id: Value.ID, storedAt version: Version.ID) throws -> Value?

  /// Returns the reference of a value at a version; nil if it has none at that key.
  func reference(_ id: Value.ID, at version: Version.ID) throws -> Value.Reference?

  /// Returns the references of all values of a version.
  func references(at version: Version.ID) throws -> [Value.Reference]

  /// Returns the versions that stored bytes under a key, newest first.
  func versionIDs(storing id: Value.ID) throws -> [Version.ID]

  /// Returns the changes that a version makes, as other stores get them.
  func changes(madeIn version: Version.ID) throws -> [Value.Change]

  /// Returns the changes that turn the first version's values into the second one's.
  func changes(from first: Version.ID, to second: Version.ID) throws -> [Value.Change]

  /// Returns the merge of two versions, for an arbiter to decide.
  func planMerge(
    of first: Version.ID, with second: Version.ID, metadata: Version.Metadata,
    isUnrelatedAllowed: Bool
  ) throws -> MergePlan

  /// Returns the versions that a place with these versions lacks, predecessors first.
  func versionIDs(missingAmong known: Set<Version.ID>) throws -> [Version.ID]

  /// Returns the changes of a version for a place that lacks it: applied to the first predecessor's
  /// values they give the version's.
  func changesToSend(of version: Version.ID) throws -> [Value.Change]

  /// Merges all heads without a branch into a version in the way in which every store makes the
  /// same versions.
  func mergeAutomatically(into version: Version.ID) throws -> AutomaticMerge
}
