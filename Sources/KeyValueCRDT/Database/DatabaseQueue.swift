internal import SQLite

/// A database file with one connection, or a database in memory: one thread at a time reads or writes.
///
/// A transaction is synced as SQLite's `synchronous=FULL` with a rollback journal does it: a power failure
/// right after its end may undo the last one as a whole, and never leaves a part of one.
public final class DatabaseQueue: DatabaseWriter, @unchecked Sendable {
  /// Opens a file, and makes it if it is not there.
  ///
  /// - Throws: ``DatabaseError``; ``KeyValueCRDTError/databaseSchemaTooNew``.
  public init(path: String) throws {
    try super.init(path: path) { _ in }
  }

  /// Makes an empty database in memory.
  public convenience init() throws {
    try self.init(path: SQLite.Database.memory)
  }
}
