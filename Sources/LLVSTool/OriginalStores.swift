internal import Foundation
import Grammar
import LLVS

/// Stores in the formats of the original LLVS, for import and export.
enum OriginalStores {
  enum Format: String, CaseIterable {
    case files = "llvs-store"
    case sqlite = "llvs-store-sqlite"

    init(option: String) throws(UsageError) {
      guard let format = Format(rawValue: option) else {
        throw UsageError(
          "\(option) is not a format; it is \(Format.allCases.map(\.rawValue).joined(separator: " or "))"
        )
      }
      self = format
    }

    fileprivate var storage: any Storage {
      switch self {
      case .files: FileStorage()
      case .sqlite: SQLiteStorage()
      }
    }
  }

  /// Adds the versions of a store in one of the original's formats to an unmounted store; returns how many are new.
  static func importVersions(of directory: String, into store: String) throws -> Int {
    try translated {
      let url = URL(fileURLWithPath: directory)
      // Otherwise a store would be made there.
      guard FileManager.default.fileExists(atPath: url.appendingPathComponent("versions").path),
        FileManager.default.fileExists(atPath: url.appendingPathComponent("maps").path)
      else { throw ControlError(.notFound, "there is no store of the original in \(directory)") }
      return try added(
        from: try Store(rootDirectoryURL: url),
        to: try Store(rootDirectoryURL: URL(fileURLWithPath: store)))
    }
  }

  /// Adds the versions of a store to one in one of the original's formats, made if missing; returns how many are
  /// new.
  static func exportVersions(
    of store: String, to directory: String, as format: Format
  ) throws -> Int {
    try translated {
      try added(
        from: try Store(rootDirectoryURL: URL(fileURLWithPath: store)),
        to: try Store(
          rootDirectoryURL: URL(fileURLWithPath: directory), storage: format.storage))
    }
  }

  private static func added(from source: Store, to target: Store) throws -> Int {
    let before = target.queryHistory { $0.allVersionIdentifiers.count }
    try target.addVersions(of: source)
    return target.queryHistory { $0.allVersionIdentifiers.count } - before
  }

  private static func translated<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as Store.Error {
      throw ControlError(kind(of: error), error.description)
    }
  }

  private static func kind(of error: Store.Error) -> ControlError.Kind {
    switch error {
    case .busy: .busy
    case .corrupt: .damaged
    case .exists: .exists
    case .notFound, .missingVersion: .notFound
    case .forgotten: .forgotten
    case .unsupported: .unsupported
    case .noSpace: .noSpace
    case .readOnly: .readOnly
    case .fromTheFuture, .unreliable, .denied: .notPermitted
    case .unreachable: .unreachable
    case .timedOut: .timedOut
    case .unrelated, .noCommonAncestor: .unrelated
    case .cancelled: .interrupted
    case .attemptToAddExistingVersion: .exists
    case .invalid, .system, .attemptToLocateUnversionedValue, .attemptToStoreValueWithNoVersion,
      .unresolvedConflict, .attemptToAddVersionWithNonexistingPredecessors:
      .refused
    }
  }
}
