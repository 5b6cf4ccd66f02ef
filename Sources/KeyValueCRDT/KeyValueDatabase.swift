public import Foundation
internal import SQLite
internal import Synchronization

/// A key-value database in one SQLite file, whose copies are changed apart and merged.
///
/// A key is in a scope and has a value: text, JSON, or bytes with a media type. Copies of the file may be
/// changed on several devices; ``merge(source:dryRun:)`` joins them. Where two have written one key without
/// knowing of each other, the key has several versions until somebody writes it again: reading gives
/// `[Version]`. Every copy that has merged the same copies holds the same versions, in whatever order it
/// did so.
///
/// Each opening of a file is an author of its own, ``instanceID``.
///
/// - Concurrency: any thread may use it. A call is one transaction; an error leaves everything as it was.
/// - Throws: every method may throw ``DatabaseError``: with `busy` after waiting five seconds for another
///   process, with `corrupt` for a damaged file.
public final class KeyValueDatabase: Sendable {
  /// The author of what this instance writes.
  public let instanceID: UUID

  let writer: DatabaseWriter
  let authorDescription: String
  let openedAt: Date
  /// The number of the last write that this instance has committed.
  let lastWrite = Mutex<Int64>(0)

  /// Opens a file, and makes it if it is not there.
  ///
  /// - Parameters:
  ///   - fileURL: the file; nil for a database in memory.
  ///   - authorDescription: the author's name for people, for example the name of the device.
  ///   - upgrader: brings older data of the application to the present version.
  /// - Throws: ``KeyValueCRDTError/databaseSchemaTooNew``; with an upgrader
  ///   ``KeyValueCRDTError/incompatibleApplications``, ``KeyValueCRDTError/applicationDataTooNew`` and
  ///   what the upgrader throws, which leaves the file as it was; ``DatabaseError``.
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

  /// Opens the database that a ``DatabaseQueue`` or a ``DatabasePool`` holds.
  ///
  /// Several instances may share one; each is an author of its own.
  ///
  /// - Throws: as ``init(fileURL:authorDescription:upgrader:)`` does.
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

  /// Reads the database with SQL, one state of it throughout.
  ///
  /// - Throws: what the block throws; ``DatabaseError``, also where a statement would write.
  public func read<T>(block: (Database) throws -> T) throws -> T {
    try writer.read(block)
  }

  /// Runs a block in one transaction, which is undone if it throws.
  ///
  /// The methods of this instance that the block calls are part of the transaction.
  ///
  /// - Throws: what the block throws; ``DatabaseError``.
  public func write(block: (Database) throws -> Void) throws {
    try writer.write(block)
  }
}
