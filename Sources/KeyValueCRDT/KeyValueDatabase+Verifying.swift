public import Foundation
internal import Platform
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// Checks the file, the text index, the authors and every entry, and returns the faults.
  /// - Complexity: O(*n*) in the size of the file.
  /// - Throws: ``DatabaseError``.
  public func verify() throws -> [DatabaseFault] {
    try DatabaseError.wrapping {
      try writer.writing.gate.locked {
        let connection = writer.writing
        var faults: [DatabaseFault] = []
        try connection.read {
          faults += try connection.sqlite.integrityCheck().map { .damaged($0) }
          guard faults.isEmpty else { return }
          faults += try Self.badEntries(connection)
          faults += try Self.badAuthors(connection)
        }
        if faults.allSatisfy({ $0.isOfOneKey }) { faults += try textIndexFaults(connection) }
        return faults
      }
    }
  }

  private static func badEntries(_ connection: Connection) throws -> [DatabaseFault] {
    try connection.sqlite.all(
      """
      SELECT authorId, timestamp, text, json, blobMimeType, blob, scope, key, type, usn FROM entry
      """
    ) { entry in
      fault(in: entry).map { DatabaseFault.badEntry(entry.scopedKey(6, 7), $0) }
    }.flatMap { $0 }
  }

  private static func fault(in entry: Statement) -> [String] {
    var faults: [String] = []
    for (column, name) in [(Int32(6), "scope"), (7, "key"), (2, "text"), (3, "JSON text")] {
      guard entry.kind(column) != .null else { continue }
      if entry.kind(column) != .text
        || String(validating: entry.utf8(column), as: UTF8.self) == nil
      {
        faults.append("the \(name) is not UTF-8")
      }
    }
    if entry.kind(0) != .blob || entry.blob(0).count != 16 {
      faults.append("the author's id is not 16 bytes long")
    }
    if entry.date(1) == nil { faults.append("the time cannot be read") }
    if entry.kind(9) != .integer || entry.integer(9) < 1 {
      faults.append("the number of the write is not a positive number")
    }
    let values = [entry.kind(2), entry.kind(3), entry.kind(5)].map { $0 != .null }
    let expected: [Bool]? =
      switch entry.integer(8) {
      case 0: [false, false, false]
      case 1: [true, false, false]
      case 2: [false, true, false]
      case 3: [false, false, true]
      default: nil
      }
    if values != expected { faults.append("the type does not fit the value") }
    if values[1], !JSONText.isValid(entry.string(3)) { faults.append("the JSON text is not valid") }
    return faults
  }

  private static func badAuthors(_ connection: Connection) throws -> [DatabaseFault] {
    func faults(
      _ sql: String, _ fault: (ScopedKey, UUID) -> DatabaseFault
    ) throws -> [DatabaseFault] {
      let statement = try connection.sqlite.statement(sql)
      defer { statement.close() }
      return try statement.all { row in
        UUID(bytes: row.blob(2)).map { fault(row.scopedKey(0, 1), $0) }
      }.compactMap { $0 }
    }
    return try faults(
      """
      SELECT scope, key, authorId FROM entry LEFT JOIN author ON author.id = entry.authorId
      WHERE author.usn IS NULL OR entry.usn > author.usn
      """
    ) { .unlistedWrite($0, author: $1) }
      + faults(
        """
        SELECT DISTINCT entry.scope, entry.key, entry.authorId FROM tombstone
        JOIN entry USING (scope, key, authorId) WHERE entry.usn <= tombstone.usn
        """
      ) { .removedVersion($0, author: $1) }
  }

  /// SQLite's check is a writing statement, so it is omitted for a read-only file.
  private func textIndexFaults(_ connection: Connection) throws -> [DatabaseFault] {
    guard !connection.sqlite.isReadOnly else { return [] }
    do {
      try connection.write {
        try connection.sqlite.execute(
          "INSERT INTO entryFullText (entryFullText, rank) VALUES ('integrity-check', 1)")
      }
      return []
    } catch SQLite.DatabaseError.corrupt(let words) {
      return [.textIndex(words)]
    }
  }

  /// - Throws: ``DatabaseError``.
  public func makeMemoryDatabaseQueue() throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try copy(into: queue)
    return queue
  }

  /// Replaces another database's content by this one's, and notifies its observers.
  /// - Throws: ``DatabaseError``, with `busy` within a block that writes to one of both.
  public func backup(to destination: KeyValueDatabase) throws {
    guard destination.writer !== writer else { return }
    try copy(into: destination.writer)
  }

  private func copy(into other: DatabaseWriter) throws {
    // One order over all databases, so that two copies in opposite directions do not deadlock.
    let (first, second) = writer.order < other.order ? (writer, other) : (other, writer)
    try DatabaseError.wrapping {
      try first.writing.gate.locked {
        try second.writing.gate.locked {
          try writer.writing.sqlite.copy(into: other.writing.sqlite)
          let schema = try Schema.prepare(other.writing)
          other.schema.withLock { $0 = schema }
          other.observers.committed(.unknown, on: other.writing)
        }
      }
    }
  }

  /// Writes the database to a new file, compacted and durable.
  /// - Throws: ``DatabaseError`` with `cannotOpen` if the file exists; it stays unchanged.
  public func save(to url: URL) throws {
    guard url.isFileURL else {
      throw DatabaseError(.cannotOpen, "\(url.absoluteString) is not the URL of a file")
    }
    let path = url.path
    try DatabaseError.wrapping {
      guard try !FileSystem.exists(path) else { throw Self.isThere(path) }
      let aside = url.deletingLastPathComponent().appendingPathComponent(
        ".~\(url.lastPathComponent.prefix(64)).\(UUID().uuidString).tmp"
      ).path
      do {
        try writeCopy(to: aside)
        // A link fails if another process created a file there; a rename would replace that file.
        try FileSystem.link(aside, to: path)
      } catch {
        try? FileSystem.unlink(aside)
        if let error = error as? SystemError, error.errno == Errno.exists {
          throw Self.isThere(path)
        }
        throw error
      }
      try FileSystem.unlink(aside)
      try FileSystem.syncDirectory(FileSystem.directory(of: path))
    }
  }

  private func writeCopy(to path: String) throws {
    try writer.writing.gate.locked {
      guard !writer.writing.sqlite.isInTransaction else {
        throw DatabaseError(.misuse, "a database cannot be saved within a block that writes to it")
      }
      try writer.writing.sqlite.prepared("VACUUM INTO ?").bind(1, path).run()
    }
    try File(path, .readWrite).sync()
  }

  private static func isThere(_ path: String) -> DatabaseError {
    DatabaseError(.cannotOpen, "\(path) is there already", errno: Errno.exists)
  }
}

extension KeyValueDatabase.DatabaseFault {
  var isOfOneKey: Bool {
    switch self {
    case .unlistedWrite, .removedVersion, .badEntry: true
    case .damaged, .textIndex: false
    }
  }
}
