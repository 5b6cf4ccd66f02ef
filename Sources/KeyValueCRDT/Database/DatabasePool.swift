internal import Platform
internal import SQLite

extension KeyValueDatabase {
  /// A database file with a write-ahead log and several connections: others read while one writes.
  public final class DatabasePool: DatabaseWriter, @unchecked Sendable {
    public enum Synchronous: String, Sendable {
      /// When it ends.
      case full = "FULL"
      /// Some time after its end: a power failure may undo the last transactions, each as a whole.
      case normal = "NORMAL"
    }

    private struct Readers {
      var idle: [Connection] = []
      var count = 0
    }

    private let readers = Monitor(Readers())
    /// Further readers wait for one of these.
    private static let mostReaders = 5

    /// Opens or makes a file, and gives it a write-ahead log.
    /// - Throws: ``DatabaseError``.
    public init(path: String, synchronous: Synchronous = .full) throws {
      try super.init(path: path) { sqlite in
        guard path != SQLite.Database.memory else {
          throw DatabaseError(.misuse, "a database in memory has one connection: use DatabaseQueue")
        }
        try sqlite.execute("PRAGMA journal_mode = WAL")
        try sqlite.execute("PRAGMA synchronous = \(synchronous.rawValue)")
      }
    }

    override func reading<Result>(_ body: (Connection) throws -> Result) throws -> Result {
      // A writing thread sees its own changes.
      guard !writing.gate.isMine else { return try super.reading(body) }
      let reader = try take()
      defer {
        readers.withLock { $0.idle.append(reader) }
        readers.signal()
      }
      return try reader.gate.locked { try reader.read { try body(reader) } }
    }

    private func take() throws -> Connection {
      let idle = readers.wait { readers -> Connection?? in
        if let connection = readers.idle.popLast() { return .some(connection) }
        guard readers.count < Self.mostReaders else { return nil }
        readers.count += 1
        return .some(nil)
      }
      if let connection = idle ?? nil { return connection }
      do {
        let connection = try Connection(path: path, mode: .readOnly)
        connection.writer = order
        return connection
      } catch {
        readers.withLock { $0.count -= 1 }
        readers.signal()
        throw error
      }
    }
  }
}
