public import Foundation
public import LLVS

/// Keeps the tables of an SQLite file at the current version of a coordinator; the program reads them here.
public actor ProjectionFollower {
  private let database: SQLiteDatabase
  private let projector: Projector
  private let coordinator: StoreCoordinator

  /// Opens or makes the file, as ``Projector/init(database:store:types:schemaVersion:)`` does the tables.
  /// - Throws: ``SQLiteDatabase/Error``.
  public init(
    databaseURL: URL, coordinator: StoreCoordinator, types: [ProjectedType], schemaVersion: Int
  ) throws {
    database = try SQLiteDatabase(fileURL: databaseURL)
    projector = try Projector(
      database: database, store: coordinator.store, types: types, schemaVersion: schemaVersion)
    self.coordinator = coordinator
  }

  /// Runs a block with the file, which the block must not keep, while no update runs.
  /// - Throws: the error of the block.
  public func query<T: Sendable>(_ block: (SQLiteDatabase) throws -> T) throws -> T {
    try block(database)
  }

  /// Brings the tables to the coordinator's current version; after a failure they are unchanged.
  @discardableResult
  public func projectCurrentVersion() -> Result<ProjectionResult, any Error> {
    Result { try projector.update(to: coordinator.currentVersion) }
  }

  /// Brings the tables to the current version and to each later one, until the task is cancelled.
  public func followUpdates(
    onResult: @Sendable (Result<ProjectionResult, any Error>) -> Void
  ) async {
    for await _ in coordinator.currentVersionUpdates { onResult(projectCurrentVersion()) }
  }
}
