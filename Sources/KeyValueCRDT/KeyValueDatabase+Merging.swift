internal import Foundation
internal import SQLite

extension KeyValueDatabase {
  /// Applies the writes and removals of another database, which stays unchanged.
  ///
  /// A version remains if both have it, or if one has it and the other has never known it. The order of merges and
  /// the clocks of devices make no difference.
  /// - Returns: the keys whose versions changed; in a dry run, those that would.
  /// - Throws: ``KeyValueCRDTError/incompatibleApplications``,
  ///   ``KeyValueCRDTError/mergeSourceIncompatible``, ``KeyValueCRDTError/mergeSourceRequiresUpgrade``,
  ///   ``KeyValueCRDTError/authorTableInconsistency``, ``DatabaseError``.
  /// - Complexity: O(*n* + *m*) in the entries of both; much less time if both know the same writes.
  @discardableResult
  public func merge(source: KeyValueDatabase, dryRun: Bool = false) throws -> Set<ScopedKey> {
    guard source.writer !== writer else { return [] }
    return try withBoth(source) { theirs in
      if dryRun {
        return try writer.read { (mine: Connection) in try join(mine, source, theirs).keys }
      }
      return try writer.write { (mine: Connection) in
        let join = try join(mine, source, theirs)
        let notes = try Tombstones(join, try VersionVector(mine), from: theirs)
        try mine.operation {
          try Self.addAuthors(of: theirs, source.writer, to: mine)
          try Self.apply(join, from: theirs, to: mine)
          try notes.apply(to: mine)
        }
        // The next writes may need the whole file, which may also be the source.
        try theirs.endReading()
        return join.keys
      }
    }
  }

  /// True if this database knows all writes that another one knows.
  /// - Throws: ``DatabaseError``.
  public func dominates(other: KeyValueDatabase) throws -> Bool {
    guard other.writer !== writer else { return true }
    return try withBoth(other) { theirs in
      try writer.read { (mine: Connection) in
        try VersionVector(mine).dominates(try VersionVector(theirs))
      }
    }
  }

  /// Runs a body with the other database open for reading and this one locked for writing.
  /// All databases have one order of turns, so two merges cannot deadlock.
  func withBoth<Result>(
    _ other: KeyValueDatabase, _ body: (Connection) throws -> Result
  ) throws -> Result {
    if writer.order < other.writer.order {
      return try writer.writing.gate.locked { try other.writer.read(body) }
    }
    return try other.writer.read { (theirs: Connection) in
      try writer.writing.gate.locked { try body(theirs) }
    }
  }

  private func join(
    _ mine: Connection, _ source: KeyValueDatabase, _ theirs: Connection
  ) throws -> Join {
    try Self.check(
      try Self.application(writer, mine), try Self.application(source.writer, theirs))
    let (mineKnown, theirsKnown) = (try VersionVector(mine), try VersionVector(theirs))
    // Neither has news for the other, unless a merge of the original restored removed versions.
    if mineKnown == theirsKnown, try Self.entryCount(mine) == Self.entryCount(theirs) {
      return Join()
    }
    return try Join(of: mine, mineKnown, with: theirs, theirsKnown)
  }

  /// Equal for databases with the same entries, if they know the same writes.
  private static func entryCount(_ connection: Connection) throws -> [[Int64]] {
    try connection.sqlite.prepared(
      "SELECT COUNT(*), ifnull(SUM(usn & 0xFFFFFFFF), 0) FROM entry"
    ).all { [$0.integer(0), $0.integer(1)] }
  }

  private static func check(
    _ mine: ApplicationIdentifier?, _ theirs: ApplicationIdentifier?
  ) throws {
    guard mine != theirs else { return }
    guard let mine, let theirs, mine.id == theirs.id else {
      throw KeyValueCRDTError.incompatibleApplications
    }
    switch mine.compare(to: theirs) {
    case .currentVersionIsTooOld: throw KeyValueCRDTError.mergeSourceIncompatible
    case .requiresUpgrade: throw KeyValueCRDTError.mergeSourceRequiresUpgrade
    case .compatible, .incompatible: throw KeyValueCRDTError.incompatibleApplications
    }
  }

  /// Makes the list of authors cover the writes that both cover.
  private static func addAuthors(
    of source: Connection, _ writer: DatabaseWriter, to receiver: Connection
  ) throws {
    let theirs = try authorRows(source, writer)
    defer { theirs.close() }
    while try theirs.step() {
      let add = try receiver.sqlite.prepared(
        """
        INSERT INTO author (id, name, usn, timestamp) VALUES (?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET
          usn = max(usn, excluded.usn), timestamp = ifnull(timestamp, excluded.timestamp)
        WHERE usn < excluded.usn OR (timestamp IS NULL AND excluded.timestamp IS NOT NULL)
        """)
      for column in Int32(0)..<4 { add.bind(column + 1, column: column, of: theirs) }
      try add.run()
    }
  }

  private static func apply(_ join: Join, from source: Connection, to receiver: Connection) throws {
    guard !join.isEmpty else { return }
    try TextIndex.changing(join.arrivals.count + join.removals.count, on: receiver.sqlite) {
      index in
      for removal in join.removals {
        try index.remove(removal.number)
        try receiver.sqlite.prepared("DELETE FROM entry WHERE rowid = ?").bind(1, removal.number)
          .run()
        receiver.note(removal.key)
      }
      for arrival in join.arrivals {
        let theirs = try source.sqlite.prepared(
          """
          SELECT scope, key, authorId, usn, timestamp, type, text, json, blobMimeType, blob
          FROM entry WHERE rowid = ?
          """
        ).bind(1, arrival.number)
        let mine = try receiver.sqlite.prepared(
          """
          INSERT INTO entry
            (scope, key, authorId, usn, timestamp, type, text, json, blobMimeType, blob)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """)
        defer {
          theirs.reset()
          mine.reset()
        }
        guard try theirs.step() else { continue }
        for column in Int32(0)..<10 { mine.bind(column + 1, column: column, of: theirs) }
        try mine.run()
        try index.addLast(text: 6, of: theirs)
        receiver.note(arrival.key)
      }
    }
  }
}
