public import Foundation
internal import SQLite
internal import Synchronization

/// A key-value database in one SQLite file; copies of the file are changed separately and merged.
///
/// A value is text, JSON, or bytes with a media type. ``merge(source:dryRun:)`` joins copies of the file. If two
/// copies wrote one key concurrently, the key has several versions until it is written again. Copies that have
/// merged the same copies hold the same versions.
///
/// Each opening of a file is an author of its own, ``instanceID``.
/// - Concurrency: any thread may use it. A call is one transaction; an error leaves everything unchanged.
public final class KeyValueDatabase: Sendable {
  public let instanceID: UUID
  let writer: DatabaseWriter
  let authorDescription: String
  let openedAt: Date
  let lastWrite = Mutex<Int64>(0)

  /// Opens a file, and makes a missing one.
  /// A file of nil is a database in memory. The upgrader's error leaves the file unchanged.
  /// - Throws: ``KeyValueCRDTError/databaseSchemaTooNew``; with an upgrader its error,
  ///   ``KeyValueCRDTError/incompatibleApplications`` and ``KeyValueCRDTError/applicationDataTooNew``.
  public convenience init(
    fileURL: URL?, authorDescription: String, upgrader: (any ApplicationDataUpgrader)? = nil
  ) throws {
    if let fileURL, !fileURL.isFileURL {
      throw DatabaseError(.cannotOpen, "\(fileURL.absoluteString) is not the URL of a file")
    }
    try self.init(
      databaseWriter: try DatabaseQueue(path: fileURL?.path ?? SQLite.Database.memory),
      authorDescription: authorDescription, upgrader: upgrader)
  }

  /// Opens a writer's database; each of several instances is an author of its own.
  /// - Throws: as the other form.
  public init(
    databaseWriter: DatabaseWriter, authorDescription: String,
    upgrader: (any ApplicationDataUpgrader)? = nil
  ) throws {
    writer = databaseWriter
    instanceID = UUID()
    self.authorDescription = authorDescription
    openedAt = Date()
    try upgrader?.upgrade(self)
  }

  /// Reads one state of the database with SQL.
  /// - Throws: ``DatabaseError``; the error of the block.
  public func read<T>(block: (Database) throws -> T) throws -> T { try writer.read(block) }

  /// Runs a block in one transaction, including its calls of this instance; an error rolls it back.
  /// - Throws: ``DatabaseError``; the error of the block.
  public func write(block: (Database) throws -> Void) throws { try writer.write(block) }

  /// The application whose data the database holds; nil if unknown.
  /// - Throws: ``DatabaseError``.
  public var applicationIdentifier: ApplicationIdentifier? {
    get throws {
      try writer.read { (connection: Connection) in try Self.application(writer, connection) }
    }
  }

  /// - Throws: ``DatabaseError``.
  public func setApplicationIdentifier(_ applicationIdentifier: ApplicationIdentifier) throws {
    try writer.write { (connection: Connection) in
      try connection.sqlite.execute("DELETE FROM applicationIdentifier")
      try connection.sqlite.prepared("INSERT INTO applicationIdentifier VALUES (?, ?, ?, ?)")
        .bind(1, applicationIdentifier.id)
        .bind(2, Int64(applicationIdentifier.majorVersion))
        .bind(3, Int64(applicationIdentifier.minorVersion))
        .bind(4, applicationIdentifier.applicationDescription)
        .run()
    }
  }

  static func application(
    _ writer: DatabaseWriter, _ connection: Connection
  ) throws -> ApplicationIdentifier? {
    if case .older(_, hasApplication: false) = writer.schema.withLock({ $0 }) { return nil }
    return try connection.sqlite.prepared(
      "SELECT id, majorVersion, minorVersion, applicationDescription FROM applicationIdentifier"
    ).first {
      ApplicationIdentifier(
        id: $0.string(0), majorVersion: Int($0.integer(1)), minorVersion: Int($0.integer(2)),
        applicationDescription: $0.isNull(3) ? nil : $0.string(3))
    }
  }
}

extension ApplicationDataUpgrader {
  func upgrade(_ database: KeyValueDatabase) throws {
    switch expectedApplicationIdentifier.compare(to: try database.applicationIdentifier) {
    case .compatible: break
    case .incompatible: throw KeyValueCRDTError.incompatibleApplications
    case .currentVersionIsTooOld: throw KeyValueCRDTError.applicationDataTooNew
    case .requiresUpgrade:
      try database.writer.write { (_: Connection) in
        // Another process may have been faster.
        guard
          expectedApplicationIdentifier.compare(to: try database.applicationIdentifier)
            == .requiresUpgrade
        else { return }
        try upgradeApplicationData(in: database)
        try database.setApplicationIdentifier(expectedApplicationIdentifier)
      }
    }
  }
}
