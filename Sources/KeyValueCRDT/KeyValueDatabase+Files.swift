public import Foundation
internal import Platform
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
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
