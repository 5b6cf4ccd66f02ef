internal import CSQLite

extension Database {
  package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
  package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }
  /// The number of rows that this connection has changed, by triggers too.
  package var totalChanges: Int64 { sqlite3_total_changes64(handle) }
  package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

  /// Differs after another connection has changed the file.
  package func dataVersion() throws(DatabaseError) -> Int64 {
    let statement = try prepared("PRAGMA data_version")
    defer { statement.reset() }
    return try statement.step() ? statement.integer(0) : 0
  }

  /// For this connection only; the schema stays.
  package func setTriggers(areRun: Bool) throws(DatabaseError) {
    let code = llvs_sqlite3_enable_triggers(handle, areRun ? 1 : 0)
    guard code == SQLITE_OK else { throw failure(code, "triggers") }
  }

  /// Keeps the schema of a file of unknown origin from running functions with effects.
  package func distrust() throws(DatabaseError) {
    let code = llvs_sqlite3_distrust(handle)
    guard code == SQLITE_OK else { throw failure(code, "distrust") }
  }

  /// Calls a body for each changed row of a table; it replaces the previous body and must not use the connection.
  package func onChange(of table: String, _ body: @escaping () -> Void) {
    let observer = ChangeObserver(table: table, body: body)
    changeObserver = observer
    // The connection keeps the observer alive until it is closed.
    sqlite3_update_hook(
      handle,
      { context, _, _, table, _ in
        guard let context, let table else { return }
        let observer = Unmanaged<ChangeObserver>.fromOpaque(context).takeUnretainedValue()
        if String(cString: table) == observer.table { observer.body() }
      }, Unmanaged.passUnretained(observer).toOpaque())
  }
}

final class ChangeObserver {
  fileprivate let table: String
  fileprivate let body: () -> Void

  init(table: String, body: @escaping () -> Void) {
    self.table = table
    self.body = body
  }
}
