internal import Foundation
internal import SQLite
internal import Synchronization

extension KeyValueDatabase {
  /// Takes over what another database has written and removed; the other stays as it is.
  ///
  /// A version of a key is there afterwards if both have it, or if one has it and the other has never heard
  /// of it. What was written or removed knowing of a version replaces it; what was written apart is there
  /// side by side. The order of merges, and the clocks of devices, make no difference.
  ///
  /// - Parameters:
  ///   - source: the other database.
  ///   - dryRun: true to learn what would change, and change nothing.
  /// - Returns: the keys whose versions changed, or would.
  /// - Throws: ``KeyValueCRDTError/incompatibleApplications``,
  ///   ``KeyValueCRDTError/mergeSourceIncompatible`` and
  ///   ``KeyValueCRDTError/mergeSourceRequiresUpgrade`` where the applications' data do not fit;
  ///   ``KeyValueCRDTError/authorTableInconsistency`` where a list of authors does not fit the entries, if
  ///   the other knows anything else;
  ///   ``DatabaseError``.
  /// - Complexity: O(*n* + *m*) in the entries of both; much less time where both know the same.
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
          try Self.addAuthors(of: theirs, hasTimestamps: source.hasTimestamps, to: mine)
          try Self.apply(join, from: theirs, to: mine)
          try notes.apply(to: mine)
        }
        // The next writes may need the whole file, which may be the source, too.
        try theirs.endReading()
        return join.keys
      }
    }
  }

  /// True if this database knows of all that another knows of.
  ///
  /// - Throws: ``DatabaseError``.
  public func dominates(other: KeyValueDatabase) throws -> Bool {
    guard other.writer !== writer else { return true }
    return try withBoth(other) { theirs in
      try writer.read { (mine: Connection) in
        try VersionVector(mine).dominates(try VersionVector(theirs))
      }
    }
  }

  var hasTimestamps: Bool {
    if case .older(let hasTimestamps, _) = writer.schema.withLock({ $0 }) { return hasTimestamps }
    return true
  }

  /// Runs a body with another database open for reading, and this one's turn to write taken.
  ///
  /// The turns are taken in one order over all databases, so that two that merge each other at one time do
  /// not wait for each other.
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
    // Both know the same writes, so that neither has anything for the other, unless a merge of the original
    // has brought back what was removed: then one has more entries.
    if mineKnown == theirsKnown, try EntryCount(mine) == EntryCount(theirs) { return Join() }
    return try Join(of: mine, mineKnown, with: theirs, theirsKnown)
  }

  /// The number of entries, and the sum of their numbers, which shows whether two databases that know the
  /// same writes have the same entries.
  private struct EntryCount: Equatable {
    private let count: Int64
    private let sum: Int64

    init(_ connection: Connection) throws {
      let row = try connection.sqlite.prepared(
        "SELECT COUNT(*), ifnull(SUM(usn & 0xFFFFFFFF), 0) FROM entry")
      defer { row.reset() }
      _ = try row.step()
      (count, sum) = (row.integer(0), row.integer(1))
    }
  }

  /// Compares the application's data of a receiver and a source.
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

  /// Makes the list of authors cover what both cover; nothing is written where it does.
  private static func addAuthors(
    of source: Connection, hasTimestamps: Bool, to receiver: Connection
  ) throws {
    let theirs =
      try hasTimestamps
      ? source.sqlite.statement("SELECT id, name, usn, timestamp FROM author ORDER BY id")
      : source.sqlite.statement("SELECT id, name, usn, NULL FROM author ORDER BY id")
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

  private static func apply(
    _ join: Join, from source: Connection, to receiver: Connection
  ) throws {
    guard !join.isEmpty else { return }
    try TextIndex.changing(join.arrivals.count + join.removals.count, on: receiver) { index in
      for removal in join.removals {
        try index.remove(removal.row)
        try receiver.sqlite.prepared("DELETE FROM entry WHERE rowid = ?").bind(1, removal.row).run()
        receiver.note(removal.key)
      }
      for arrival in join.arrivals {
        let theirs = try source.sqlite.prepared(
          """
          SELECT scope, key, authorId, usn, timestamp, type, text, json, blobMimeType, blob
          FROM entry WHERE rowid = ?
          """
        ).bind(1, arrival.row)
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
