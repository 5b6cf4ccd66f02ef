internal import CSQLite

extension Database {
  /// True if a transaction is open.
  package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// True if the file cannot be written through this connection.
  package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

  /// The number of rows that this connection has changed so far, those by triggers included.
  package var totalChanges: Int64 { sqlite3_total_changes64(handle) }

  /// The number of the row that was inserted last.
  package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

  /// A number that differs after another connection has changed the file.
  package func dataVersion() throws(DatabaseError) -> Int64 {
    let statement = try prepared("PRAGMA data_version")
    defer { statement.reset() }
    return try statement.step() ? statement.integer(0) : 0
  }

  /// Lets triggers run, or keeps them from it, on this connection alone; the schema stays as it is.
  package func setTriggers(areRun: Bool) throws(DatabaseError) {
    let code = llvs_sqlite3_enable_triggers(handle, areRun ? 1 : 0)
    guard code == SQLITE_OK else { throw failure(code, "triggers") }
  }

  /// Keeps the file's schema from running functions that only this program's own files may run, for a file
  /// that somebody else made.
  package func distrust() throws(DatabaseError) {
    let code = llvs_sqlite3_distrust(handle)
    guard code == SQLITE_OK else { throw failure(code, "distrust") }
  }

  /// Calls a body for each row of a table that this connection inserts, changes or deletes.
  ///
  /// The body must not use the connection. A connection has one; the next replaces it.
  package func onChange(of table: String, _ body: @escaping () -> Void) {
    let observer = ChangeObserver(table: Array(table.utf8), body: body)
    changeObserver = observer
    // The connection holds the observer, and is closed before it lets go of it.
    sqlite3_update_hook(
      handle,
      { context, _, _, table, _ in
        guard let context, let table else { return }
        Unmanaged<ChangeObserver>.fromOpaque(context).takeUnretainedValue().changed(table)
      }, Unmanaged.passUnretained(observer).toOpaque())
  }

  /// A statement that is not kept: the caller ends it with ``Statement/close()``.
  ///
  /// - Throws: ``DatabaseError/refused(code:message:)`` where the text is not one whole statement.
  package func statement(_ sql: String) throws(DatabaseError) -> Statement {
    var compiled: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &compiled, nil)
    guard code == SQLITE_OK else { throw failure(code, sql) }
    guard let compiled else {
      throw .refused(code: SQLITE_ERROR, message: "\(path): no statement (\(sql))")
    }
    return Statement(compiled, database: self)
  }
}

/// The observer of changed rows.
final class ChangeObserver {
  private let table: [UInt8]
  private let body: () -> Void

  init(table: [UInt8], body: @escaping () -> Void) {
    self.table = table
    self.body = body
  }

  fileprivate func changed(_ name: UnsafePointer<CChar>) {
    for (index, byte) in table.enumerated() where UInt8(bitPattern: name[index]) != byte { return }
    guard name[table.count] == 0 else { return }
    body()
  }
}
