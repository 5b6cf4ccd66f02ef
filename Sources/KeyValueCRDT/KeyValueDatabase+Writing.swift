public import Foundation
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// Writes text, with any character, in place of all present versions of the key.
  ///
  /// The time of all writes must be in the years 0 to 9999. The result is the number of the write, counted from 1
  /// for each author.
  /// - Throws: ``DatabaseError``.
  @discardableResult
  public func writeText(
    _ text: String, to key: String, scope: String = "", timestamp: Date = Date()
  ) throws -> Int {
    try bulkWrite([ScopedKey(scope: scope, key: key): .text(text)], timestamp: timestamp)
  }

  /// Writes a JSON text, byte for byte, as ``writeText(_:to:scope:timestamp:)`` does.
  /// - Throws: ``KeyValueCRDTError/invalidJSON`` (RFC 8259), ``DatabaseError``.
  @discardableResult
  public func writeJson(
    _ json: String, to key: String, scope: String = "", timestamp: Date = Date()
  ) throws -> Int {
    try bulkWrite([ScopedKey(scope: scope, key: key): .json(json)], timestamp: timestamp)
  }

  /// Writes at most 1,000,000,000 bytes, as ``writeText(_:to:scope:timestamp:)`` does text.
  /// - Throws: ``DatabaseError``.
  @discardableResult
  public func writeBlob(
    _ blob: Data, to key: String, scope: String = "",
    mimeType: String = "application/octet-stream", timestamp: Date = Date()
  ) throws -> Int {
    try bulkWrite(
      [ScopedKey(scope: scope, key: key): .blob(mimeType: mimeType, blob: blob)],
      timestamp: timestamp)
  }

  /// Deletes a key, which is a write: a concurrent change in another copy stays next to it after a merge.
  /// - Throws: ``DatabaseError``.
  @discardableResult
  public func delete(key: String, scope: String = "", timestamp: Date = Date()) throws -> Int {
    try bulkWrite([ScopedKey(scope: scope, key: key): .null], timestamp: timestamp)
  }

  /// Writes many values in one transaction: all of them or none.
  /// - Throws: ``KeyValueCRDTError/invalidJSON``, ``DatabaseError``.
  @discardableResult
  public func bulkWrite(_ values: [ScopedKey: Value], timestamp: Date = Date()) throws -> Int {
    try Self.check(values)
    return try writer.write { (connection: Connection) in
      Int(try write(values, timestamp: timestamp, on: connection))
    }
  }

  /// Writes many values within a block of ``write(block:)`` of this database.
  /// - Throws: ``KeyValueCRDTError/invalidJSON``, ``DatabaseError``.
  public func bulkWrite(
    database: Database, values: [ScopedKey: Value], timestamp: Date = Date()
  ) throws {
    try Self.check(values)
    let connection = try database.connection(of: writer, toWrite: true)
    try DatabaseError.wrapping {
      // All of them or none, even if the block continues after an error.
      _ = try connection.write { try write(values, timestamp: timestamp, on: connection) }
    }
  }

  private static func check(_ values: [ScopedKey: Value]) throws {
    for value in values.values {
      guard let json = value.json else { continue }
      guard JSONText.isValid(json) else { throw KeyValueCRDTError.invalidJSON }
    }
  }

  private func write(
    _ values: [ScopedKey: Value], timestamp: Date, on connection: Connection
  ) throws -> Int64 {
    let writes = try EntryWriter(
      connection, author: instanceID, name: authorDescription, openedAt: openedAt,
      lastWrite: lastWrite.withLock { $0 }, timestamp: timestamp)
    try TextIndex.writing(values.count, on: connection.sqlite) {
      // In the order of the table, because neighbours are in one page.
      for (key, value) in values.sorted(by: { $0.key < $1.key }) {
        try writes.write(value, to: key)
      }
    }
    noteLastWrite(writes.number, on: connection)
    return writes.number
  }

  /// A committed number is not reused, even if the list of authors is replaced.
  func noteLastWrite(_ number: Int64, on connection: Connection) {
    connection.afterCommit { [self] in lastWrite.withLock { $0 = max($0, number) } }
  }

  /// Forgets the authors of all values: they become this instance's.
  ///
  /// Several versions of a key stay, each but the oldest with a new author. Notes about removed versions are lost.
  ///
  /// Without the list of authors, merging an older copy adds its values to the present ones. If it is kept, no
  /// erased value returns.
  /// - Complexity: O(*n* log *n*) in the entries.
  /// - Throws: ``DatabaseError``.
  public func eraseVersionHistory(keepingKnowledge: Bool = false) throws {
    try writer.write { (connection: Connection) in
      try connection.operation {
        try erase(connection, keepingKnowledge: keepingKnowledge)
      }
    }
  }

  private func erase(_ connection: Connection, keepingKnowledge: Bool) throws {
    let sqlite = connection.sqlite
    // Until the end, entries have unlisted authors.
    try sqlite.execute("PRAGMA defer_foreign_keys = ON")
    try sqlite.execute("DELETE FROM tombstone")
    var authors: [UUID] = []
    let rows = try ranked(connection)
    try TextIndex.untouched(on: sqlite) {
      // The ids are new, so no two versions of a key have the same one.
      for (row, rank) in rows {
        while authors.count <= rank { authors.append(UUID()) }
        try sqlite.prepared("UPDATE entry SET authorId = ?, usn = 1 WHERE rowid = ?")
          .bind(1, authors[rank]).bind(2, row).run()
      }
      if !keepingKnowledge {
        try sqlite.prepared("DELETE FROM author WHERE id <> ?").bind(1, instanceID).run()
      }
      let writes = try EntryWriter(
        connection, author: instanceID, name: authorDescription, openedAt: openedAt,
        lastWrite: lastWrite.withLock { $0 }, timestamp: openedAt)
      noteLastWrite(writes.number, on: connection)
      if let first = authors.first {
        try sqlite.prepared("UPDATE entry SET authorId = ?, usn = ? WHERE authorId = ?")
          .bind(1, instanceID).bind(2, writes.number).bind(3, first).run()
      }
    }
    for author in authors.dropFirst() {
      try sqlite.prepared("INSERT INTO author (id, name, usn, timestamp) VALUES (?, ?, 1, ?)")
        .bind(1, author).bind(2, authorDescription).bind(3, Timestamp.text(openedAt)).run()
    }
  }

  private func ranked(_ connection: Connection) throws -> [(row: Int64, rank: Int)] {
    let statement = try connection.sqlite.prepared(
      "SELECT authorId, timestamp, NULL, NULL, NULL, NULL, scope, key, rowid FROM entry ORDER BY scope, key"
    )
    var result: [(row: Int64, rank: Int)] = []
    var last: ScopedKey?
    var versions: [(row: Int64, version: Version)] = []
    func finish() {
      versions.sort { Version.precedes($0.version, $1.version) }
      result += versions.enumerated().map { ($1.row, $0) }
      versions = []
    }
    try statement.all { statement in
      let key = statement.scopedKey(6, 7)
      if key != last { finish() }
      last = key
      versions.append((statement.integer(8), try statement.version(from: 0, of: key)))
      connection.note(key)
    }
    finish()
    return result
  }
}
