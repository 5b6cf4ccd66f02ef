public import Foundation
public import LLVSCore

/// A way by which a store's versions reach others: what every kind of exchange can do.
public protocol Exchange: AnyObject, Sendable {
  /// The store that is exchanged.
  var store: Store { get }

  /// Takes in the versions that are there and not here.
  ///
  /// - Returns: the ids of all versions that were there.
  /// - Throws: ``StoreError``, among them ``StoreError/unreachable(_:)``.
  func retrieve() async throws -> [Version.ID]

  /// Writes the versions that are here and not there.
  ///
  /// - Returns: the ids of the versions that are new there.
  /// - Throws: ``StoreError``, among them ``StoreError/unreachable(_:)``.
  func send() async throws -> [Version.ID]

  /// What has to be kept to go on with the exchange in another run of the program.
  var restorationState: Data? { get }
}

extension Exchange {
  /// Nothing: what is there and what is here says it all.
  public var restorationState: Data? { nil }
}
