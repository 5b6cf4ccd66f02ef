internal import Foundation
public import LLVS
public import LLVSModel

/// A table of SQLite that a program writes; its changes become versions.
///
/// The column `llvs_id` has the keys of values. Triggers note every change in the table `TABLE_changelog`.
/// ``drain(in:store:)`` makes a version of these; ``apply(_:in:atVersion:)`` writes other versions' changes. Both
/// are one transaction of SQLite:
///
/// INVARIANT P1: a change of a row is in the changelog until a version has it.
/// INVARIANT P2: a changelog becomes exactly one version, even if the program ends between the store's version and
/// the end of the transaction, because the version names its drain.
/// INVARIANT P3: an applied change is not in the changelog, and the table is at the recorded version, apart from
/// the changes in the changelog.
///
/// Properties without a column stay in the value. For one thread at a time.
public struct OwnedTable: Sendable {
  /// The text after the last `/` in the keys of the table's values.
  public let typeIdentifier: String
  public let tableName: String
  public let schema: ModelSchema

  /// Describes a table.
  /// - Precondition: names are ASCII letters, digits and underscores, without a digit at the beginning.
  public init(typeIdentifier: String, tableName: String, schema: ModelSchema) {
    for name in [tableName] + schema.columns.map(\.columnName) {
      precondition(
        ProjectedType.isPlain(name), "\(name) cannot be the name of a table or of a column")
    }
    self.typeIdentifier = typeIdentifier
    self.tableName = tableName
    self.schema = schema
  }

  var changelogName: String { "\(tableName)_changelog" }
  var stateName: String { "\(tableName)_state" }
  private var applyingName: String { "\(tableName)_applying" }
  var drainName: String { "\(tableName)_drain" }

  /// Returns the statements that make the missing parts of the table, its triggers and its other tables.
  public func createStatements() -> [String] {
    let quoted = typeIdentifier.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: "''")
    let key =
      "llvs_id TEXT PRIMARY KEY NOT NULL "
      + "CHECK (substr(llvs_id, -length('/\(quoted)')) = '/\(quoted)')"
    let columns = [key] + schema.columns.map { "\($0.columnName) \($0.declaration)" }
    return [
      "CREATE TABLE IF NOT EXISTS \(tableName) (\(columns.joined(separator: ", ")))",
      """
      CREATE TABLE IF NOT EXISTS \(changelogName) (seq INTEGER PRIMARY KEY AUTOINCREMENT,
        llvs_id TEXT NOT NULL, column_name TEXT, op TEXT NOT NULL)
      """,
      """
      CREATE TABLE IF NOT EXISTS \(stateName) (id INTEGER PRIMARY KEY CHECK (id = 0),
        version_id TEXT)
      """,
      "CREATE TABLE IF NOT EXISTS \(drainName) (token TEXT NOT NULL, seq INTEGER NOT NULL)",
      "CREATE TABLE IF NOT EXISTS \(applyingName) (flag INTEGER NOT NULL)",
      """
      INSERT INTO \(applyingName) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM \(applyingName))
      """,
    ] + triggers()
  }

  private func triggers() -> [String] {
    func note(
      _ row: String, _ column: String, _ kind: ChangelogEntry.Operation, if condition: String
    )
      -> String
    {
      """
      INSERT INTO \(changelogName) (llvs_id, column_name, op)
        SELECT \(row).llvs_id, \(column), '\(kind.rawValue)' WHERE \(condition);
      """
    }
    func trigger(_ event: String, _ body: [String]) -> String {
      """
      CREATE TRIGGER IF NOT EXISTS \(tableName)_capture_\(event)
      AFTER \(event.uppercased()) ON \(tableName)
      WHEN (SELECT flag FROM \(applyingName)) = 0
      BEGIN
      \(body.joined(separator: "\n"))
      END
      """
    }
    // A row that gets another key is removed and inserted.
    let isMoved = "OLD.llvs_id IS NOT NEW.llvs_id"
    let updates = schema.columns.map { column in
      note(
        "NEW", "'\(column.columnName)'", .update,
        if: "OLD.\(column.columnName) IS NOT NEW.\(column.columnName)")
    }
    return [
      trigger("insert", [note("NEW", "NULL", .insert, if: "1")]),
      trigger(
        "update",
        [note("OLD", "NULL", .remove, if: isMoved), note("NEW", "NULL", .insert, if: isMoved)]
          + updates),
      trigger("delete", [note("OLD", "NULL", .remove, if: "1")]),
    ]
  }

  func owns(_ id: Value.ID) -> Bool { LLVSModel.modelTypeIdentifier(from: id) == typeIdentifier }

  /// - Throws: ``SQLiteDatabase/Error``.
  public func currentVersion(in database: SQLiteDatabase) throws -> Version.ID? {
    try database.value("SELECT version_id FROM \(stateName)").map { Version.ID($0) }
  }

  func record(_ version: Version.ID, in database: SQLiteDatabase) throws {
    try database.execute(
      statement: "INSERT OR REPLACE INTO \(stateName) (id, version_id) VALUES (0, ?)",
      withBindingsList: [[version.rawValue]])
  }

  /// Returns the changes that no version has yet, in their order.
  /// - Throws: ``SQLiteDatabase/Error``; ``Store/Error/corrupt(_:)``.
  public func changelogEntries(in database: SQLiteDatabase) throws -> [ChangelogEntry] {
    var entries: [ChangelogEntry] = []
    try database.forEach(
      matchingQuery: "SELECT seq, llvs_id, column_name, op FROM \(changelogName) ORDER BY seq"
    ) { row in
      guard let sequence: Int64 = row.value(inColumnAtIndex: 0),
        let id: String = row.value(inColumnAtIndex: 1),
        let kind: String = row.value(inColumnAtIndex: 3),
        let operation = ChangelogEntry.Operation(rawValue: kind)
      else { throw Store.Error.corrupt("\(changelogName) has an entry that cannot be read") }
      entries.append(
        ChangelogEntry(
          sequence: sequence, valueId: Value.ID(id), columnName: row.value(inColumnAtIndex: 2),
          operation: operation))
    }
    return entries
  }

  /// Forgets all changes that no version has yet; the rows stay changed.
  /// - Throws: ``SQLiteDatabase/Error``.
  public func clearChangelog(in database: SQLiteDatabase) throws {
    try database.execute(statement: "DELETE FROM \(changelogName)")
  }

  /// Forgets the changes up to and including one.
  /// - Throws: ``SQLiteDatabase/Error``.
  public func clearChangelog(in database: SQLiteDatabase, throughSequence sequence: Int64) throws {
    try database.execute(
      statement: "DELETE FROM \(changelogName) WHERE seq <= ?", withBindingsList: [[sequence]])
  }

  /// Executes a body in one transaction that notes no changes; an error rolls it back.
  /// - Throws: ``SQLiteDatabase/Error``; the error of the body.
  public func whileApplyingRemoteChanges(
    in database: SQLiteDatabase, _ body: () throws -> Void
  ) throws {
    try database.inTransaction {
      try database.execute(statement: "UPDATE \(applyingName) SET flag = 1")
      try body()
      try database.execute(statement: "UPDATE \(applyingName) SET flag = 0")
    }
  }

  /// Writes changes of values into the table without noting them as the program's; returns the number of rows.
  ///
  /// Values of other types are ignored, and a value that is no JSON object has no row. The version is recorded as
  /// that of the table, unless it is nil.
  /// - Throws: ``Store/Error/invalid(_:)`` if a row has changes that ``drain(in:store:)`` has not made into a
  ///   version; the error of SQLite. The table is then unchanged.
  @discardableResult
  public func apply(
    _ changes: [Value.Change], in database: SQLiteDatabase, atVersion version: Version.ID? = nil
  ) throws -> Int {
    var count = 0
    try whileApplyingRemoteChanges(in: database) {
      let pending = Set(try changelogEntries(in: database).map(\.valueId))
      for change in changes where owns(change.valueId) {
        switch change {
        // The table has these already.
        case .preserve, .preserveRemoval: continue
        case .insert, .update, .remove: break
        }
        guard !pending.contains(change.valueId) else {
          throw Store.Error.invalid(
            "the row \(change.valueId.rawValue) in \(tableName) has changes that are in no version "
              + "yet: make one of them with drain first")
        }
        if try write(change, in: database) { count += 1 }
      }
      if let version { try record(version, in: database) }
    }
    return count
  }

  private func write(_ change: Value.Change, in database: SQLiteDatabase) throws -> Bool {
    guard let value = change.value, let object = Self.object(of: value.data) else {
      // The row would differ from a new value that cannot be read.
      try database.execute(
        statement: "DELETE FROM \(tableName) WHERE llvs_id = ?",
        withBindingsList: [[change.valueId.rawValue]])
      return change.value == nil
    }
    let places = Array(repeating: "?", count: schema.columns.count + 1).joined(separator: ", ")
    let row: [Any?] = schema.columns.map { Self.binding(of: object[$0.propertyName], $0.storage) }
    // Columns that the program has added stay.
    let updates = schema.columns.map { "\($0.columnName) = excluded.\($0.columnName)" }
    let conflict = updates.isEmpty ? "NOTHING" : "UPDATE SET \(updates.joined(separator: ", "))"
    try database.execute(
      statement: """
        INSERT INTO \(tableName) (\(columnList)) VALUES (\(places))
        ON CONFLICT(llvs_id) DO \(conflict)
        """,
      withBindingsList: [[value.id.rawValue] + row])
    return true
  }

  /// Returns rows as instances, in the order of the query, without those that cannot be read as the type.
  /// The clause is the SQL after `WHERE`, and may end with `ORDER BY`. The version is returned with each row.
  /// - Throws: ``SQLiteDatabase/Error``.
  public func fetch<Model: StorableModel & Sendable>(
    _ type: Model.Type, in database: SQLiteDatabase, where clause: String? = nil,
    bindings: [Any?] = [], atVersion version: Version.ID? = nil
  ) throws -> [ModelRow<Model>] {
    let condition = clause.map { " WHERE \($0)" } ?? ""
    var rows: [ModelRow<Model>] = []
    try database.forEach(
      matchingQuery: "SELECT \(columnList) FROM \(tableName)\(condition)", withBindings: bindings
    ) { row in
      guard let id: String = row.value(inColumnAtIndex: 0),
        let object = try? object(of: row, over: [:]),
        let data = try? Self.data(of: object),
        let model = try? JSONDecoder().decode(type, from: data)
      else { return }
      rows.append(ModelRow(model: model, id: Value.ID(id), version: version))
    }
    return rows
  }
}

extension Value.Change {
  fileprivate var value: Value? {
    switch self {
    case .insert(let value), .update(let value): value
    case .remove, .preserve, .preserveRemoval: nil
    }
  }
}

public struct ModelRow<Model: StorableModel & Sendable>: Sendable {
  public let model: Model
  public let id: Value.ID
  public let version: Version.ID?
}
