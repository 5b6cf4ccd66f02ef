internal import Foundation
internal import SQLite

/// Writes values of one author within one transaction.
struct EntryWriter {
  private let connection: Connection
  private let author: UUID
  private let usn: Int64
  private let timestamp: String

  /// Gives the author the next number.
  ///
  /// The list of authors may have been replaced, so the caller keeps the last number, and no number is used twice.
  /// Throws ``DatabaseError`` with `mismatch` for a time that the format cannot represent.
  init(
    _ connection: Connection, author: UUID, name: String, openedAt: Date, lastWrite: Int64,
    timestamp: Date
  ) throws {
    guard let time = Timestamp.text(timestamp), let opening = Timestamp.text(openedAt) else {
      throw DatabaseError(.mismatch, "a time must be in the years 0 to 9999")
    }
    self.connection = connection
    self.author = author
    self.timestamp = time
    let listed = try connection.sqlite.prepared("SELECT usn FROM author WHERE id = ?")
      .bind(1, author).first { $0.integer(0) }
    usn = max(listed ?? 0, lastWrite) + 1
    try connection.sqlite.prepared(
      """
      INSERT INTO author (id, name, usn, timestamp) VALUES (?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET usn = excluded.usn
      """
    ).bind(1, author).bind(2, name).bind(3, usn).bind(4, opening).run()
  }

  var number: Int64 { usn }

  func write(_ value: Value, to key: ScopedKey) throws {
    try connection.operation {
      try removeOthers(key)
      let statement = try connection.sqlite.prepared(
        """
        INSERT INTO entry
          (scope, key, authorId, usn, timestamp, type, text, json, blobMimeType, blob)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (scope, key, authorId) DO UPDATE SET
          usn = excluded.usn, timestamp = excluded.timestamp, type = excluded.type,
          text = excluded.text, json = excluded.json, blobMimeType = excluded.blobMimeType,
          blob = excluded.blob
        """
      ).bind(1, key.scope).bind(2, key.key).bind(3, author).bind(4, usn).bind(5, timestamp)
        .bind(6, value.kind.rawValue)
      switch value {
      case .null: break
      case .text(let text): statement.bind(7, text)
      case .json(let text): statement.bind(8, text)
      case .blob(let mimeType, let blob):
        statement.bind(9, mimeType)
        blob.withUnsafeBytes { _ = statement.bind(10, $0) }
      }
      // The value may be large.
      defer { statement.reset() }
      try statement.run()
    }
    connection.note(key)
  }

  /// Removes the versions of other authors with a note of each.
  private func removeOthers(_ key: ScopedKey) throws {
    let sqlite = connection.sqlite
    let other = try sqlite.prepared(
      "SELECT 1 FROM entry WHERE scope = ? AND key = ? AND authorId <> ?"
    ).bind(1, key.scope).bind(2, key.key).bind(3, author).first { $0.integer(0) }
    guard other != nil else { return }
    try sqlite.prepared(
      """
      INSERT INTO tombstone (scope, key, authorId, usn, deletingAuthorId, deletingUsn)
      SELECT scope, key, authorId, usn, ?3, ?4 FROM entry
      WHERE scope = ?1 AND key = ?2 AND authorId <> ?3
      """
    ).bind(1, key.scope).bind(2, key.key).bind(3, author).bind(4, usn).run()
    try sqlite.prepared("DELETE FROM entry WHERE scope = ? AND key = ? AND authorId <> ?")
      .bind(1, key.scope).bind(2, key.key).bind(3, author).run()
  }
}

extension Statement {
  /// The version in the columns authorId, timestamp, text, json, blobMimeType and blob from a column on; the
  /// first value that is not null counts. Throws ``DatabaseError`` with `corrupt`.
  func version(from column: Int32, of key: @autoclosure () -> ScopedKey) throws -> Version {
    guard let timestamp = date(column + 1) else {
      throw DatabaseError(.corrupt, "the time of a version of \(key()) cannot be read")
    }
    return Version(
      authorID: try author(column), timestamp: timestamp,
      value: value(from: column + 2))
  }

  private func value(from column: Int32) -> Value {
    if kind(column) != .null { return .text(string(column)) }
    if kind(column + 1) != .null { return .json(string(column + 1)) }
    guard kind(column + 3) != .null else { return .null }
    return .blob(
      mimeType: kind(column + 2) == .null ? Value.defaultMimeType : string(column + 2),
      blob: data(column + 3))
  }

  /// A date in any form of the format's versions.
  func date(_ column: Int32) -> Date? {
    switch kind(column) {
    case .text: Timestamp.date(utf8(column))
    case .integer, .real: Date(timeIntervalSince1970: real(column))
    case .null, .blob: nil
    }
  }

  func scopedKey(_ scope: Int32, _ key: Int32) -> ScopedKey {
    ScopedKey(scope: string(scope), key: string(key))
  }
}

extension Value {
  static let defaultMimeType = "application/octet-stream"
}
