internal import Foundation
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
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
    defer { statement.reset() }
    var result: [(row: Int64, rank: Int)] = []
    var last: ScopedKey?
    var versions: [(row: Int64, version: Version)] = []
    func finish() {
      versions.sort { Version.precedes($0.version, $1.version) }
      result += versions.enumerated().map { ($1.row, $0) }
      versions = []
    }
    while try statement.step() {
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
