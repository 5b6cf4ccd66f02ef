public import Foundation

/// A version and the changes that it makes to the values of its first predecessor.
public typealias VersionChanges = (version: Version, valueChanges: [Value.Change])

/// A way for a store's versions to reach other stores.
///
/// A type of exchange needs only the five functions that list, read and write versions. Their results are not
/// trusted: a version that breaks a rule is left out with its descendants, and ``retrieval()`` names it.
public protocol Exchange: AnyObject {
  /// Yields when the other side may have versions that were not retrieved yet.
  var newVersionsAvailable: AsyncStream<Void> { get }
  var store: Store { get }
  /// The state for another run of the program; a ``StoreCoordinator`` keeps it.
  var restorationState: Data? { get set }
  /// Stores the versions that the store lacks, and returns those of the other side's versions that it then has.
  /// - Throws: the error of another function, or of the store; earlier batches stay.
  func retrieve() async throws -> [Version.ID]
  /// Called before ids are listed for retrieving.
  /// - Throws: any error, which ends the retrieval.
  func prepareToRetrieve() async throws
  /// - Throws: any error, which ends the exchange.
  func retrieveAllVersionIdentifiers() async throws -> [Version.ID]
  /// - Throws: any error, which ends the retrieval.
  func retrieveVersions(identifiedBy versionIds: [Version.ID]) async throws -> [Version]

  /// - Throws: any error, which ends the retrieval.
  func retrieveValueChanges(
    forVersionsIdentifiedBy versionIds: [Version.ID]
  ) async throws -> [Version.ID: [Value.Change]]

  /// Writes the versions that the other side lacks, and returns their ids.
  /// - Throws: the error of another function, or of the store; earlier batches stay.
  func send() async throws -> [Version.ID]
  /// Called before ids are listed for sending.
  /// - Throws: any error, which ends the sending.
  func prepareToSend() async throws
  /// Writes versions to the other side, each after its predecessors.
  /// - Throws: any error, which ends the sending.
  func send(versionChanges: [VersionChanges]) async throws
}

extension Exchange {
  /// Yields nothing: the program must retrieve without notice.
  public var newVersionsAvailable: AsyncStream<Void> { AsyncStream { $0.finish() } }

  /// None: the versions on both sides are enough.
  public var restorationState: Data? {
    get { nil }
    set {}
  }

  public func prepareToRetrieve() async throws {}
  public func prepareToSend() async throws {}
}
