import LLVSCore
import Platform
import SQLite
import SQLiteSums

// tree.sqlite:
//
//   state     one row: see RecordedState
//   inodes    number | parent, cookie: one of its names | links: how many names it has, or a
//             directory subdirectories | record: InodeRecord+Coding.swift
//   entries   parent, cookie | name | inode | key, where it is not the encoding of the path
//   names     inode, parent, cookie: the names of an inode beyond the one in its row
//   links     the inodes that have a link id
//
// All of it but numbers and local times follows from the head's map, so the file can be lost.

enum TreeDatabase {
  /// The format's number; a file with another is made again.
  static let formatVersion: Int64 = 1
  /// Memory for pages of a reading and a writing connection, in KiB.
  static let readerCache = 4096
  private static let writerCache = 65_536

  private static let schema = """
    CREATE TABLE state(
      store BLOB NOT NULL, cut INTEGER NOT NULL, version TEXT, root BLOB NOT NULL,
      hash_key INTEGER NOT NULL, value_count INTEGER NOT NULL, directory_count INTEGER NOT NULL);
    CREATE TABLE inodes(
      number INTEGER PRIMARY KEY, parent INTEGER, cookie INTEGER, links INTEGER NOT NULL,
      record BLOB NOT NULL);
    CREATE TABLE entries(
      parent INTEGER NOT NULL, cookie INTEGER NOT NULL, name BLOB NOT NULL,
      inode INTEGER NOT NULL, key BLOB, PRIMARY KEY(parent, cookie)
    ) WITHOUT ROWID;
    CREATE TABLE names(
      inode INTEGER NOT NULL, parent INTEGER NOT NULL, cookie INTEGER NOT NULL,
      PRIMARY KEY(inode, parent, cookie)
    ) WITHOUT ROWID;
    CREATE TABLE links(
      id BLOB NOT NULL, inode INTEGER NOT NULL, PRIMARY KEY(id, inode)
    ) WITHOUT ROWID;
    PRAGMA user_version=\(formatVersion);
    """

  /// Opens the file for writing, and makes missing tables; throws ``StoreError/rebuildable(_:)`` for another format.
  static func writer(_ path: String) throws(StoreError) -> Database {
    try accessing {
      let database = try open(path, .create, cache: writerCache)
      // The owner decides when the log is copied into the file.
      database.watchLog()
      if try database.integer("PRAGMA user_version") == 0 {
        try database.transaction { () throws(DatabaseError) in try database.execute(schema) }
      }
      guard try database.integer("PRAGMA user_version") == formatVersion else {
        throw DatabaseError.corrupt("\(path) has another format")
      }
      return database
    }
  }

  static func reader(_ path: String) throws(StoreError) -> Database {
    try accessing { try open(path, .readWrite, cache: readerCache) }
  }

  private static func open(
    _ path: String, _ mode: Database.Mode, cache: Int
  ) throws(DatabaseError) -> Database {
    let database = try Database(path: path, mode: mode, options: .withPageSums)
    try database.execute(
      """
      PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=0;
      PRAGMA cache_size=-\(cache)
      """)
    return database
  }

  /// Removes the file and SQLite's files next to it.
  static func remove(_ path: String) throws(StoreError) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
      try accessing {
        if try FileSystem.exists(path + suffix) { try FileSystem.unlink(path + suffix) }
      }
    }
  }
}

/// As ``accessing(_:)``; rolls back the open transaction of a database if `body` throws.
func accessing<Result>(
  _ database: Database, _ body: () throws -> Result
) throws(StoreError) -> Result {
  do throws(StoreError) {
    return try accessing(body)
  } catch {
    database.rollBack()
    throw error
  }
}

/// Runs `body`, and throws its error as a ``StoreError``.
func accessing<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
  do {
    return try body()
  } catch let error as StoreError {
    throw error
  } catch let error as SystemError {
    throw .system(error)
  } catch let error as DatabaseError {
    switch error {
    case .busy(let message): throw .busy(message)
    case .readOnly(let path): throw .busy("\(path) is read-only")
    // A constraint violation means damaged rows, because our statements never violate one.
    case .corrupt(let message), .refused(_, let message): throw .rebuildable(message)
    case .system(let error): throw .system(error)
    }
  } catch { throw .busy("\(error)") }
}
