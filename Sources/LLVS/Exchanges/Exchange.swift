public import Foundation

/// A version and the changes that it makes to the values of its first predecessor.
public typealias VersionChanges = (version: Version, valueChanges: [Value.Change])

/// A way for a store's versions to reach other stores.
///
/// A type of exchange implements the five functions that say how versions are listed, read and
/// written at the other side; ``retrieve()`` and ``send()`` are made of them. Nothing that comes
/// from there is trusted: a version that breaks a rule is left out with its descendants, and
/// reported in the log.
public protocol Exchange: AnyObject {
  /// Yields when the other side may have versions that were not retrieved yet.
  var newVersionsAvailable: AsyncStream<Void> { get }

  /// The store that is exchanged.
  var store: Store { get }

  /// The state that the exchange needs to go on in another run of the program; nil for none.
  ///
  /// A ``StoreCoordinator`` keeps it, and sets it before the exchange is used.
  var restorationState: Data? { get set }

  /// Stores the versions that the other side has and the store lacks.
  ///
  /// - Returns: the ids of all versions of the other side.
  func retrieve() async throws -> [Version.ID]

  /// Called before ids are listed for retrieving.
  func prepareToRetrieve() async throws

  /// Returns the ids of all versions of the other side, in any order.
  func retrieveAllVersionIdentifiers() async throws -> [Version.ID]

  /// Returns the versions with these ids, in any order; those that are not there are left out.
  func retrieveVersions(identifiedBy versionIds: [Version.ID]) async throws -> [Version]

  /// Returns the changes of the versions with these ids; those that are not there are left out.
  func retrieveValueChanges(
    forVersionsIdentifiedBy versionIds: [Version.ID]
  ) async throws -> [Version.ID: [Value.Change]]

  /// Writes the versions that the store has and the other side lacks.
  ///
  /// - Returns: the ids of the versions that are new on the other side.
  func send() async throws -> [Version.ID]

  /// Called before ids are listed for sending.
  func prepareToSend() async throws

  /// Writes versions to the other side, each after its predecessors.
  func send(versionChanges: [VersionChanges]) async throws
}

extension Exchange {
  /// Yields nothing: the other side has to be asked.
  public var newVersionsAvailable: AsyncStream<Void> { AsyncStream { $0.finish() } }

  /// None: the versions on both sides are all that is needed.
  public var restorationState: Data? {
    get { nil }
    set {}
  }

  /// Does nothing.
  public func prepareToRetrieve() async throws {}

  /// Does nothing.
  public func prepareToSend() async throws {}
}
