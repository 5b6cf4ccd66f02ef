internal import Foundation
public import LLVS
internal import LLVSModel

extension OwnedTable {
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
}

extension Value.Change {
  fileprivate var value: Value? {
    switch self {
    case .insert(let value), .update(let value): value
    case .remove, .preserve, .preserveRemoval: nil
    }
  }
}
