internal import Foundation
public import LLVS

public struct DrainResult: Hashable, Sendable {
  public let version: Version.ID?
  public let changeCount: Int
}

extension Version.MetadataKey {
  static let drain = Version.MetadataKey("llvs.drain")
}

extension OwnedTable {
  /// Makes one version of all changes since the last drain, based on the table's version, and records it as this.
  /// - Throws: ``Store/Error/missingVersion``; ``Store/Error/invalid(_:)`` for the content of a column; the error
  ///   of SQLite or of the store. The changes stay in the changelog.
  @discardableResult
  public func drain(in database: SQLiteDatabase, store: Store) throws -> DrainResult {
    try drain(in: database, store: store, basedOn: try currentVersion(in: database))
  }

  /// Makes one version of all changes, based on another version than the table's; see ``drain(in:store:)``.
  /// - Throws: as ``drain(in:store:)``.
  @discardableResult
  public func drain(
    in database: SQLiteDatabase, store: Store, basedOn predecessor: Version.ID?
  ) throws -> DrainResult {
    let recorded = try currentVersion(in: database)
    let made = try finishDrain(in: database, store: store)
    // The table's version is that of the interrupted drain.
    let predecessor = predecessor == recorded ? made ?? predecessor : predecessor
    guard let last = try changelogEntries(in: database).last else {
      return DrainResult(version: nil, changeCount: 0)
    }
    // Durable before the version is made, and deleted with the changelog.
    let token = UUID().uuidString
    try database.inTransaction {
      try database.execute(statement: "DELETE FROM \(drainName)")
      try database.execute(
        statement: "INSERT INTO \(drainName) VALUES (?, ?)",
        withBindingsList: [[token, last.sequence]])
    }
    // Other connections cannot change rows in this transaction.
    return try database.inTransaction {
      let changes = try changes(through: last.sequence, in: database, store, since: predecessor)
      guard !changes.isEmpty else {
        try forgetDrain(through: last.sequence, in: database)
        return DrainResult(version: nil, changeCount: 0)
      }
      let version = try store.makeVersion(
        basedOnPredecessor: predecessor, storing: changes, metadata: [.drain: .init(token)])
      try forgetDrain(through: last.sequence, in: database)
      try record(version.id, in: database)
      return DrainResult(version: version.id, changeCount: changes.count)
    }
  }

  private func forgetDrain(through sequence: Int64, in database: SQLiteDatabase) throws {
    try clearChangelog(in: database, throughSequence: sequence)
    try database.execute(statement: "DELETE FROM \(drainName)")
  }

  /// Finishes a drain that was interrupted after its version was made, and returns the version.
  /// - Complexity: O(*n*) over all versions after an interruption, O(1) otherwise.
  private func finishDrain(in database: SQLiteDatabase, store: Store) throws -> Version.ID? {
    var found: (token: String, sequence: Int64)?
    try database.forEach(matchingQuery: "SELECT token, seq FROM \(drainName)") { row in
      guard let token: String = row.value(inColumnAtIndex: 0),
        let sequence: Int64 = row.value(inColumnAtIndex: 1)
      else { return }
      found = (token, sequence)
    }
    guard let (token, sequence) = found else { return nil }
    try store.reloadHistory()
    let made = store.queryHistory { history in
      history.first { version in
        let name: String? = version.metadata[.drain]?.valueIfDecodable()
        return name == token
      }?.id
    }
    guard let made else { return nil }
    try database.inTransaction {
      try forgetDrain(through: sequence, in: database)
      try record(made, in: database)
    }
    return made
  }

  private func changes(
    through sequence: Int64, in database: SQLiteDatabase, _ store: Store,
    since predecessor: Version.ID?
  ) throws -> [Value.Change] {
    var ids = Set<Value.ID>()
    for entry in try changelogEntries(in: database) where entry.sequence <= sequence {
      ids.insert(entry.valueId)
    }
    return try ids.sorted().compactMap { id in
      let old = try predecessor.flatMap { try store.value(id: id, at: $0) }
      let base = old.flatMap { Self.object(of: $0.data) }
      // The present row counts, not the kind of the last change.
      var new: Data?
      try database.forEach(
        matchingQuery: "SELECT \(columnList) FROM \(tableName) WHERE llvs_id = ?",
        withBindings: [id.rawValue]
      ) { row in
        new = try Self.data(of: try object(of: row, over: base ?? [:]))
      }
      guard let new else { return old == nil ? nil : .remove(id) }
      guard new != old?.data else { return nil }
      let value = Value(id: id, data: new)
      return old == nil ? .insert(value) : .update(value)
    }
  }
}
