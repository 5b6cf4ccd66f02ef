public import Foundation
internal import Platform
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// Makes a copy of the database in memory.
  ///
  /// - Throws: ``DatabaseError``.
  public func makeMemoryDatabaseQueue() throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try copy(into: queue)
    return queue
  }

  /// Replaces all that another database holds by what this one holds now. The observers of the other are
  /// told.
  ///
  /// - Throws: ``DatabaseError``, with `busy` within a block that writes to one of both.
  public func backup(to destination: KeyValueDatabase) throws {
    guard destination.writer !== writer else { return }
    try copy(into: destination.writer)
  }

  private func copy(into other: DatabaseWriter) throws {
    // In one order over all databases: two that are copied to each other do not wait for each other.
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

  /// Writes the database to a new file, compacted. The file is there whole, and on the disk, or not at all.
  ///
  /// - Throws: ``DatabaseError`` with `cannotOpen` if there is a file already, which is left alone.
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
        // The error that is reported is the one that came first.
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
