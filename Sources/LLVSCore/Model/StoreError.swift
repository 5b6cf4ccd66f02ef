public import Platform

/// Everything that can go wrong in a store; one case per thing a caller may want to tell apart.
///
/// The first seven cases are the original's. A message inside a case is a clause without a final period.
public enum StoreError: Error, Sendable {
  /// No version with this id is in the store.
  case missingVersion(Version.ID)
  /// A value was asked for that no version holds.
  case attemptToLocateUnversionedValue
  /// A value without a version cannot be stored.
  case attemptToStoreValueWithNoVersion
  /// Two versions have no common ancestor: unrelated histories.
  case noCommonAncestor(Version.ID, Version.ID)
  /// An arbiter left this conflict undecided.
  case unresolvedConflict(Value.ID)
  /// The version is in the store already.
  case attemptToAddExistingVersion(Version.ID)
  /// A predecessor of the version is not in the store.
  case attemptToAddVersionWithNonexistingPredecessors(Version.ID)

  /// Bytes in the store are not what was written: what, where and why.
  case corrupt(String)
  /// The store, or a peer, was written by a newer program.
  case fromTheFuture(String)
  /// The store is on a file system that does not hold what writing it needs: what and where.
  case unreliable(String)
  /// Somebody else holds the store, or something stands in the way.
  case busy(String)
  /// An argument or an input that breaks a rule.
  case invalid(String)
  /// Nothing by that name: a version, a peer, a path, a branch.
  case notFound(String)
  /// The name is taken.
  case exists(String)
  /// A peer cannot be reached.
  case unreachable(String)
  /// A peer did not answer in time.
  case timedOut(String)
  /// The work was cancelled; nothing of it remains.
  case cancelled
  /// The store is open for reading only.
  case readOnly
  /// Free space is below what is kept in reserve.
  case noSpace(String)
  /// A system call failed.
  case system(SystemError)
}
