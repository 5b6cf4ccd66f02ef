public import LLVS
internal import LLVSModel

public struct ProjectionResult: Hashable, Sendable {
  public let appliedCount: Int
  /// The keys of values without a row, up to ``maximumReportedUnreadableIds``.
  public let unreadableIds: [Value.ID]
  public let unreadableCount: Int
  public static let maximumReportedUnreadableIds = 100
}

/// Keeps tables of an SQLite file at a version of a store, so that a program can search by columns.
///
/// An update is one transaction: after a failure the tables are at the old version. They can be deleted at any
/// time, because they are made from the store. For one thread at a time.
public final class Projector {
  let database: SQLiteDatabase
  var ownedTables: [OwnedTable] = []
  private let store: Store
  private let types: [String: ProjectedType]
  private let schemaVersion: Int

  /// Makes missing tables; of two types with one identifier the first counts.
  /// The schema version is the program's number for its columns: another number makes the tables again.
  /// - Throws: ``SQLiteDatabase/Error``.
  public init(
    database: SQLiteDatabase, store: Store, types: [ProjectedType], schemaVersion: Int
  ) throws {
    self.database = database
    self.store = store
    self.types = Dictionary(types.map { ($0.typeIdentifier, $0) }) { first, _ in first }
    self.schemaVersion = schemaVersion
    try database.execute(
      statement: """
        CREATE TABLE IF NOT EXISTS projection_state (
          id INTEGER PRIMARY KEY CHECK (id = 0), version_id TEXT, schema_version INTEGER NOT NULL)
        """)
    for type in types { try database.execute(statement: type.createTableStatement()) }
  }

  /// - Throws: ``SQLiteDatabase/Error``.
  public func projectedVersion() throws -> Version.ID? {
    try database.value("SELECT version_id FROM projection_state").map { Version.ID($0) }
  }

  /// Returns the schema version of the tables; nil before the first update.
  /// - Throws: ``SQLiteDatabase/Error``.
  public func storedSchemaVersion() throws -> Int? {
    try database.value("SELECT schema_version FROM projection_state")
  }

  /// Brings the tables to a version by the differences, or makes them again without an earlier version.
  /// - Throws: ``Store/Error/missingVersion``, or the error of SQLite; the tables are then unchanged.
  @discardableResult
  public func update(to version: Version.ID) throws -> ProjectionResult {
    guard let projected = try projectedVersion(), try storedSchemaVersion() == schemaVersion,
      try store.version(identifiedBy: projected) != nil
    else { return try rebuild(at: version) }
    guard projected != version else {
      return ProjectionResult(appliedCount: 0, unreadableIds: [], unreadableCount: 0)
    }
    let changes = try store.valueChanges(updatingFrom: projected, to: version)
    return try database.inTransaction {
      var pass = Pass(database: database, types: types)
      for change in changes {
        switch change {
        case .insert(let value), .update(let value): try pass.put(value)
        case .remove(let id): try pass.remove(id)
        // A difference of two versions has none of these.
        case .preserve, .preserveRemoval: break
        }
      }
      try record(version)
      return pass.result
    }
  }

  /// Fills the tables again from all values of a version, as ``update(to:)``; with another schema also makes them.
  /// - Throws: as ``update(to:)``.
  @discardableResult
  public func rebuild(at version: Version.ID) throws -> ProjectionResult {
    let isSameSchema = try storedSchemaVersion() == schemaVersion
    return try database.inTransaction {
      for type in types.values {
        if !isSameSchema {
          try database.execute(statement: "DROP TABLE IF EXISTS \(type.tableName)")
          try database.execute(statement: type.createTableStatement())
        } else {
          try database.execute(statement: "DELETE FROM \(type.tableName)")
        }
      }
      var pass = Pass(database: database, types: types)
      for reference in try store.valueReferences(at: version)
      where pass.type(of: reference.valueId) != nil {
        if let value = try store.value(id: reference.valueId, at: version) { try pass.put(value) }
      }
      try record(version)
      return pass.result
    }
  }

  private func record(_ version: Version.ID) throws {
    try database.execute(
      statement: "INSERT OR REPLACE INTO projection_state VALUES (0, ?, ?)",
      withBindingsList: [[version.rawValue, schemaVersion]])
  }

  /// Adds a table for ``drainOwnedTables(store:basedOn:)``.
  public func registerOwnedTable(_ table: OwnedTable) { ownedTables.append(table) }

  /// Drains all registered tables, each onto the previous one's version, and returns the last version.
  /// Drain tables before making them again, which loses changes that are in no version.
  /// - Throws: as ``OwnedTable/drain(in:store:)``; earlier tables are then already drained.
  @discardableResult
  public func drainOwnedTables(
    store: Store, basedOn predecessor: Version.ID?
  ) throws -> Version.ID? {
    var last = predecessor
    for table in ownedTables {
      last = try table.drain(in: database, store: store, basedOn: last).version ?? last
    }
    return last
  }
}

private struct Pass {
  let database: SQLiteDatabase
  let types: [String: ProjectedType]
  var count = 0
  var unreadable: [Value.ID] = []
  var unreadableCount = 0

  var result: ProjectionResult {
    ProjectionResult(
      appliedCount: count, unreadableIds: unreadable, unreadableCount: unreadableCount)
  }

  func type(of id: Value.ID) -> ProjectedType? {
    modelTypeIdentifier(from: id).flatMap { types[$0] }
  }

  mutating func put(_ value: Value) throws {
    guard let type = type(of: value.id) else { return }
    let row: [String: SQLiteValue]
    do {
      row = try type.extract(value)
    } catch {
      unreadableCount += 1
      if unreadable.count < ProjectionResult.maximumReportedUnreadableIds {
        unreadable.append(value.id)
      }
      // An older value's row would be wrong.
      try delete(value.id, from: type)
      return
    }
    let values: [Any?] = type.columns.map { row[$0.name]?.binding }
    try database.execute(
      statement: type.replaceStatement,
      withBindingsList: [[value.id.rawValue] + values])
    count += 1
  }

  mutating func remove(_ id: Value.ID) throws {
    guard let type = type(of: id) else { return }
    try delete(id, from: type)
    count += 1
  }

  private func delete(_ id: Value.ID, from type: ProjectedType) throws {
    try database.execute(
      statement: "DELETE FROM \(type.tableName) WHERE llvs_id = ?",
      withBindingsList: [[id.rawValue]])
  }
}

extension SQLiteDatabase {
  func value<T>(_ query: String) throws -> T? {
    var found: T?
    try forEach(matchingQuery: query) { found = $0.value(inColumnAtIndex: 0) }
    return found
  }
}

extension SQLiteValue {
  fileprivate var binding: Any? {
    switch self {
    case .text(let text): text
    case .integer(let number): number
    case .real(let number): number
    case .null: nil
    }
  }
}
