public import Foundation
internal import LLVSCore
internal import Platform

extension Store {
  /// A failure of a store; the first seven cases are those of the original.
  public enum Error: Swift.Error, Hashable, Sendable {
    case missingVersion
    case attemptToLocateUnversionedValue
    case attemptToStoreValueWithNoVersion
    case noCommonAncestor(firstVersion: Version.ID, secondVersion: Version.ID)
    case unresolvedConflict(valueId: Value.ID, valueFork: Value.Fork)
    case attemptToAddExistingVersion(Version.ID)
    case attemptToAddVersionWithNonexistingPredecessors(Version)
    /// Bytes in the store differ from those that were written; the text says what and where.
    case corrupt(String)
    /// Bytes of an old version that the store has forgotten; see ``Store/compact(beforeDate:minRetainedVersions:)``.
    case forgotten(String)
    case fromTheFuture(String)
    /// The file system of the store lacks something that writing needs.
    case unreliable(String)
    /// Another process has exclusive use of the store: a mounted store belongs to its daemon.
    case busy(String)
    case invalid(String)
    case notFound(String)
    case exists(String)
    /// The other side has other versions and none of this store's.
    case unrelated(String)
    case unreachable(String)
    case denied(String)
    case timedOut(String)
    /// The work was cancelled; it left no changes.
    case cancelled
    case readOnly
    case noSpace(String)
    /// The format of the store cannot do it.
    case unsupported(String)
    case system(String)
  }
}

extension Store.Error: LocalizedError, CustomStringConvertible {
  public var errorDescription: String? { description }

  public var description: String {
    switch self {
    case .missingVersion: "the store has no such version"
    case .attemptToLocateUnversionedValue: "no version holds the value"
    case .attemptToStoreValueWithNoVersion: "a value without a version cannot be stored"
    case .noCommonAncestor(let first, let second):
      "the versions \(first.rawValue) and \(second.rawValue) have no common ancestor"
    case .unresolvedConflict(let id, _): "the conflict at \(id.rawValue) was left undecided"
    case .attemptToAddExistingVersion(let id): "the store has the version \(id.rawValue) already"
    case .attemptToAddVersionWithNonexistingPredecessors(let version):
      "the store lacks a predecessor of the version \(version.id.rawValue)"
    case .corrupt(let text), .forgotten(let text), .fromTheFuture(let text), .unreliable(let text),
      .busy(let text),
      .invalid(let text), .notFound(let text), .exists(let text), .unrelated(let text),
      .unreachable(let text), .denied(let text), .timedOut(let text), .noSpace(let text),
      .unsupported(let text), .system(let text):
      text
    case .cancelled: "the work was cancelled"
    case .readOnly: "the store cannot be written"
    }
  }

  init(_ error: StoreError) {
    switch error {
    case .missingVersion: self = .missingVersion
    case .noCommonAncestor(let first, let second):
      self = .noCommonAncestor(
        firstVersion: Version.ID(first), secondVersion: Version.ID(second))
    case .unresolvedConflict(let id):
      self = .unresolvedConflict(valueId: Value.ID(id), valueFork: .twiceUpdated)
    case .attemptToAddExistingVersion(let id): self = .attemptToAddExistingVersion(Version.ID(id))
    case .attemptToAddVersionWithNonexistingPredecessors(let id):
      self = .attemptToAddVersionWithNonexistingPredecessors(Version(id: Version.ID(id)))
    case .corrupt(let text), .rebuildable(let text), .malformed(let text): self = .corrupt(text)
    case .forgotten(let text): self = .forgotten(text)
    case .fromTheFuture(let text): self = .fromTheFuture(text)
    case .unreliable(let text): self = .unreliable(text)
    case .busy(let text): self = .busy(text)
    case .invalid(let text): self = .invalid(text)
    case .notFound(let text): self = .notFound("there is no \(text)")
    case .exists(let text): self = .exists(text)
    case .unrelated(let text): self = .unrelated(text)
    case .unreachable(let text): self = .unreachable(text)
    case .denied(let text): self = .denied(text)
    case .timedOut(let text): self = .timedOut(text)
    case .cancelled: self = .cancelled
    case .readOnly: self = .readOnly
    case .noSpace(let text): self = .noSpace(text)
    case .system(let error): self = .system("\(error)")
    }
  }
}

/// Turns errors of the engine and of the system into public ones.
func translated<Result>(_ body: () throws -> Result) throws -> Result {
  do {
    return try body()
  } catch let error as StoreError {
    throw Store.Error(error)
  } catch let error as SystemError {
    throw Store.Error(.system(error))
  }
}
