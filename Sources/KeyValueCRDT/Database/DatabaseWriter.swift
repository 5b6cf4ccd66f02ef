internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// An open SQLite file that databases read and write: a ``DatabaseQueue`` or a ``DatabasePool``.
  /// Its databases see each other's changes, and so do their observers. Any thread may use it.
  public class DatabaseWriter: @unchecked Sendable {
    // Unchecked: the class has subclasses; everything that it stores is safe to share.

    /// The path of the file; `:memory:` for a database without one.
    public let path: String
    let writing: Connection
    let schema: Mutex<Schema>
    let observers: ObserverHub
    /// The place in the order in which two writers are locked.
    let order: Int
    private static let count = Atomic<Int>(0)

    init(
      path: String, mode: SQLite.Database.Mode = .create,
      setUp: (SQLite.Database) throws -> Void = { _ in }
    ) throws {
      let (connection, schema) = try DatabaseError.wrapping {
        let connection = try Connection(path: path, mode: mode)
        try setUp(connection.sqlite)
        return (connection, try Schema.prepare(connection, makesTables: mode == .create))
      }
      writing = connection
      self.schema = Mutex(schema)
      self.path = path
      order = Self.count.add(1, ordering: .relaxed).newValue
      writing.writer = order
      observers = ObserverHub()
      writing.committed = { [unowned self] change in observers.committed(change, on: writing) }
    }

    func uses(_ connection: Connection) -> Bool { connection.writer == order }
    var isInMemory: Bool { path == SQLite.Database.memory }

    /// Runs a body with a connection for reading one state of the database.
    func reading<Result>(_ body: (Connection) throws -> Result) throws -> Result {
      try writing.gate.locked { try writing.read { try body(writing) } }
    }

    /// The body's transaction first brings the tables to the present schema.
    final func write<Result>(_ body: (Connection) throws -> Result) throws -> Result {
      try DatabaseError.wrapping {
        try writing.gate.locked {
          let isOlder = schema.withLock { $0.isOlder }
          let result = try writing.write {
            if isOlder { try Schema.migrate(writing.sqlite) }
            return try body(writing)
          }
          if isOlder { schema.withLock { $0 = .current } }
          return result
        }
      }
    }

    final func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
      try DatabaseError.wrapping { try reading(body) }
    }

    /// Runs a block that reads one state of the database; statements that write throw.
    /// - Throws: ``DatabaseError``; the error of the block.
    public final func read<Result>(_ block: (Database) throws -> Result) throws -> Result {
      try read { connection in
        let database = Database(connection, canWrite: false)
        defer { database.close() }
        return try block(database)
      }
    }

    /// Runs a block in one transaction, which is rolled back if it throws.
    /// - Throws: ``DatabaseError``; the error of the block.
    public final func write<Result>(_ block: (Database) throws -> Result) throws -> Result {
      try write { (connection: Connection) in
        let database = Database(connection, canWrite: true)
        defer { database.close() }
        return try block(database)
      }
    }
  }

  /// A database file with one connection, or a database in memory: one thread at a time reads or writes.
  /// A power failure after a transaction (SQLite's `synchronous=FULL`) may undo the last one as a whole.
  public final class DatabaseQueue: DatabaseWriter, @unchecked Sendable {
    /// - Throws: ``DatabaseError``.
    public init(path: String) throws { try super.init(path: path) }

    /// Opens a document, without making a file or the tables of a document.
    /// - Throws: ``DatabaseError``, with `corrupt` for a file that is no document.
    package init(existing path: String) throws { try super.init(path: path, mode: .readWrite) }

    /// Makes an empty database in memory.
    /// - Throws: ``DatabaseError``.
    public convenience init() throws { try self.init(path: SQLite.Database.memory) }
  }
}
