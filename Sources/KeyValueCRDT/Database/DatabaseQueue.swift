internal import SQLite

extension KeyValueDatabase {
  /// A database file with one connection, or a database in memory: one thread at a time reads or writes.
  /// A power failure after a transaction (SQLite's `synchronous=FULL`) may undo the last one as a whole.
  public final class DatabaseQueue: DatabaseWriter, @unchecked Sendable {
    /// - Throws: ``DatabaseError``.
    public init(path: String) throws {
      try super.init(path: path) { _ in }
    }

    /// Makes an empty database in memory.
    /// - Throws: ``DatabaseError``.
    public convenience init() throws { try self.init(path: SQLite.Database.memory) }
  }
}
