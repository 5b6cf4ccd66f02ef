internal import Foundation
public import LLVS
internal import LLVSModel

extension OwnedTable {
  /// Writes changes of values into the table, without noting them as changes of the program's.
  ///
  /// Values of other types are left out. A value that is no JSON object has no row.
  ///
  /// - Parameters:
  ///   - changes: the changes, such as those of `Store.valueChanges(updatingFrom:to:)`.
  ///   - database: the database.
  ///   - version: the version that the table is at with these changes; nil leaves the one that is
  ///     recorded.
  /// - Returns: the number of rows that were written and removed.
  /// - Throws: ``Store/Error/invalid(_:)`` if a row among them has changes that no version has yet,
  ///   which would be lost: ``drain(in:store:)`` comes first; the error of SQLite. The table is as
  ///   before then.
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

  /// Returns true if a row was written or removed for the change.
  private func write(_ change: Value.Change, in database: SQLiteDatabase) throws -> Bool {
    guard let value = change.value, let object = Self.object(of: value.data) else {
      // The row of an older value would be wrong where the new one cannot be read.
      try database.execute(
        statement: "DELETE FROM \(tableName) WHERE llvs_id = ?",
        withBindingsList: [[change.valueId.rawValue]])
      return change.value == nil
    }
    let places = Array(repeating: "?", count: schema.columns.count + 1).joined(separator: ", ")
    let row: [Any?] = schema.columns.map { Self.binding(of: object[$0.propertyName], $0.storage) }
    // Columns that the program has added to the table keep what they have.
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
  /// The value of an insertion or an update; nil otherwise.
  fileprivate var value: Value? {
    switch self {
    case .insert(let value), .update(let value): value
    case .remove, .preserve, .preserveRemoval: nil
    }
  }
}
