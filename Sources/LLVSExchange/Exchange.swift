public import Foundation
public import LLVSCore

/// A way for a store's versions to reach other stores; every kind of exchange can do this.
public protocol Exchange: AnyObject, Sendable {
  /// The store that is exchanged.
  var store: Store { get }

  /// Stores the versions that the other side has and the store lacks.
  ///
  /// - Returns: the ids of all versions of the other side.
  /// - Throws: ``StoreError``, for example ``StoreError/unreachable(_:)``.
  func retrieve() async throws -> [Version.ID]

  /// Writes the versions that the store has and the other side lacks.
  ///
  /// - Returns: the ids of the versions that are new on the other side.
  /// - Throws: ``StoreError``, for example ``StoreError/unreachable(_:)``.
  func send() async throws -> [Version.ID]

  /// The state that the exchange needs to continue in another run of the program; nil for none.
  var restorationState: Data? { get }
}

extension Exchange {
  /// None: the versions on both sides are all that is needed.
  public var restorationState: Data? { nil }
}
