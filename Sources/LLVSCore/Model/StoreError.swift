package import Platform

/// A failure of a store; one case for each kind that a caller may handle differently.
///
/// The first five cases are those of the original. The message of a case is a clause without a final period.
package enum StoreError: Error, Sendable {
  case missingVersion(Version.ID)
  case noCommonAncestor(Version.ID, Version.ID)
  /// An arbiter left this conflict undecided.
  case unresolvedConflict(Value.ID)
  case attemptToAddExistingVersion(Version.ID)
  case attemptToAddVersionWithNonexistingPredecessors(Version.ID)

  /// Bytes in the store differ from those that were written; the message says what and where.
  case corrupt(String)
  /// Bytes that this store has forgotten, or was never given; the message says where.
  case forgotten(String)
  /// A file that follows from the others, such as tree.sqlite, is damaged and must be made again; the message names
  /// file and fault.
  case rebuildable(String)
  /// The store, or a peer, was written by a newer program.
  case fromTheFuture(String)
  /// The file system of the store lacks something that writing needs; the message says what and where.
  case unreliable(String)
  /// Another process has locked the store, or something else is in the way.
  case busy(String)
  /// An argument or an input breaks a rule.
  case invalid(String)
  /// No version, peer, path or branch has this name.
  case notFound(String)
  case exists(String)
  /// The other store has no version in common with this one; the message names it.
  case unrelated(String)
  /// A peer cannot be reached.
  case unreachable(String)
  /// A peer does not allow it: the credentials are missing, wrong or insufficient.
  case denied(String)
  case timedOut(String)
  /// The work was cancelled; it left no changes.
  case cancelled
  case readOnly
  /// Free space is below the reserve.
  case noSpace(String)
  /// A file of another program, such as a document, is damaged or of another kind.
  case malformed(String)
  case system(SystemError)

  /// Runs calls of the system, and throws a failed one as ``system(_:)``.
  @inlinable @inline(__always)
  package static func wrapping<R: ~Copyable>(
    _ body: () throws(SystemError) -> R
  ) throws(StoreError) -> R {
    do throws(SystemError) {
      return try body()
    } catch {
      throw .system(error)
    }
  }

  /// Throws a failed system call in an expression as ``system(_:)``.
  @inlinable @inline(__always)
  package static func translating<R: ~Copyable>(
    _ body: @autoclosure () throws(SystemError) -> R
  ) throws(StoreError) -> R {
    try wrapping(body)
  }
}
