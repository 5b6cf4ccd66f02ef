internal import CSQLite
internal import Platform

/// A connection to an SQLite file; it keeps its prepared statements and throws only ``DatabaseError``.
/// - Concurrency: one thread at a time; the owner ensures this.
package final class Database {
  /// `create` makes a missing file.
  package enum Mode: Sendable { case readWrite, create, readOnly }

  package struct Options: Sendable {
    package var patience: Int32 = 10_000
    /// True for a user's document: links are followed, and the umask decides who can read a new file.
    package var isDocument = false
    /// The VFS that reads and writes the file; nil for SQLite's own.
    package var vfs: String?
    /// The bytes at the end of each page that SQLite leaves to the VFS.
    package var reservedBytes: Int32 = 0

    package init() {}

    package static func document(patience: Int32) -> Options {
      var options = Options()
      options.patience = patience
      options.isDocument = true
      return options
    }
  }

  package static let memory = ":memory:"
  /// SQLITE_IOERR_DATA, a macro that is not imported: a page does not have its checksum.
  package static let damagedPage = SQLITE_IOERR | 32 << 8
  package let path: String
  let handle: OpaquePointer
  private let patience: Int32
  // Prepared statements by the address of their text: a StaticString keeps one address.
  private var statements: [UnsafeRawPointer: Statement] = [:]
  var changeObserver: ChangeObserver?
  /// The frames in the write-ahead log after this connection's last commit; see ``watchLog()``.
  package private(set) var logFrames = 0

  /// Opens a file, or makes one that only its owner can read.
  /// - Throws: ELOOP for a path that is neither a regular file nor a document.
  package init(path: String, mode: Mode, options: Options = Options()) throws(DatabaseError) {
    if !options.isDocument {
      do throws(SystemError) {
        try Database.prepare(path, isMade: mode == .create)
      } catch {
        throw .system(error)
      }
    }
    var opened: OpaquePointer?
    let flags: Int32 =
      switch mode {
      case .readWrite: SQLITE_OPEN_READWRITE
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .readOnly: SQLITE_OPEN_READONLY
      }
    var code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, options.vfs)
    var reserved = options.reservedBytes
    if code == SQLITE_OK, reserved > 0 {
      code = sqlite3_file_control(opened, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved)
    }
    guard code == SQLITE_OK, let opened else {
      let error = Database.error(code, opened, path, "open")
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    self.path = path
    patience = options.patience
    sqlite3_extended_result_codes(opened, 1)
    sqlite3_busy_timeout(opened, patience)
  }

  /// Throws unless the file is regular, and makes a missing file private, as SQLite's files next to it will be. An
  /// existing file is not opened, because closing it would release SQLite's locks (fcntl(2)).
  private static func prepare(_ path: String, isMade: Bool) throws(SystemError) {
    guard try FileSystem.exists(path) else {
      if isMade { _ = try File.kept(path, [.readWrite, .create, .exclusive]) }
      return
    }
    guard try FileSystem.status(path, following: false).kind == .regular else {
      throw SystemError(errno: Errno.tooManySymlinks, call: "open", subject: path)
    }
  }

  deinit {
    for statement in statements.values { statement.close() }
    sqlite3_close_v2(handle)
  }

  package func execute(_ sql: String) throws(DatabaseError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code, sql) }
  }

  /// Returns the kept statement with this text, with nothing bound.
  package func prepared(_ sql: StaticString) throws(DatabaseError) -> Statement {
    let key = UnsafeRawPointer(sql.utf8Start)
    if let statement = statements[key] {
      statement.reset()
      return statement
    }
    let statement = try compiled("\(sql)", UInt32(SQLITE_PREPARE_PERSISTENT))
    statements[key] = statement
    return statement
  }

  /// Compiles one statement; the caller must call ``Statement/close()``.
  package func statement(_ sql: String) throws(DatabaseError) -> Statement { try compiled(sql, 0) }

  private func compiled(_ sql: String, _ flags: UInt32) throws(DatabaseError) -> Statement {
    var compiled: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, flags, &compiled, nil)
    guard code == SQLITE_OK else { throw failure(code, sql) }
    guard let compiled else {
      throw .refused(code: SQLITE_ERROR, message: "\(path): no statement (\(sql))")
    }
    return Statement(compiled, database: self)
  }

  /// Returns the first column of the first row; nil without a row.
  package func integer(_ sql: String) throws(DatabaseError) -> Int64? {
    let statement = try statement(sql)
    defer { statement.close() }
    return try statement.first { $0.integer(0) }
  }

  package func rows(_ sql: String, _ body: (Statement) -> Void) throws(DatabaseError) {
    let statement = try statement(sql)
    defer { statement.close() }
    while try statement.step() { body(statement) }
  }

  /// Returns all rows as a body reads them.
  @discardableResult
  package func all<Row>(_ sql: String, _ read: (Statement) throws -> Row) throws -> [Row] {
    let statement = try statement(sql)
    defer { statement.close() }
    return try statement.all(read)
  }

  /// At most 100 faults of `PRAGMA integrity_check`; none in a sound database.
  package func integrityCheck() throws(DatabaseError) -> [String] {
    let statement = try prepared("PRAGMA integrity_check(100)")
    defer { statement.reset() }
    var lines: [String] = []
    while try statement.step() { lines.append(statement.text(0)) }
    return lines == ["ok"] ? [] : lines
  }

  /// Runs the body with the write lock; an error rolls back.
  package func transaction<Result>(
    _ body: () throws(DatabaseError) -> Result
  ) throws(DatabaseError) -> Result {
    try prepared("BEGIN IMMEDIATE").run()
    let result: Result
    do throws(DatabaseError) {
      result = try body()
      try prepared("COMMIT").run()
    } catch {
      rollBack()
      throw error
    }
    return result
  }

  package func rollBack() {
    // A COMMIT that failed may have rolled back already; then this does nothing.
    if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
  }

  /// Counts the frames of the write-ahead log, and leaves ``checkpoint()`` to the caller.
  package func watchLog() {
    // The connection is closed before it is freed.
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_wal_hook(
      handle,
      { context, _, _, frames in
        guard let context else { return SQLITE_OK }
        Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().logFrames = Int(frames)
        return SQLITE_OK
      }, context)
  }

  /// Writes changed pages to the log before the commit, which then cannot fail for lack of space.
  package func flushPages() throws(DatabaseError) {
    let code = sqlite3_db_cacheflush(handle)
    guard code == SQLITE_OK else { throw failure(code, "flush") }
  }

  /// Copies the log's frames into the database, except those that a reader still needs.
  package func checkpoint() {
    // After a failure everything is in the log, and the next commit tries again.
    sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
  }

  /// Copies the log into the database and empties it, unless another connection is using it.
  package func emptyLog() {
    sqlite3_busy_timeout(handle, 0)
    // After a failure, as on a full disk, everything is in the log; the next connection reads it.
    let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    sqlite3_busy_timeout(handle, patience)
    if code == SQLITE_OK { logFrames = 0 }
  }

  /// Replaces another database's content; ``DatabaseError/busy(_:)`` if either has an open transaction.
  package func copy(into other: Database) throws(DatabaseError) {
    guard let backup = sqlite3_backup_init(other.handle, "main", handle, "main") else {
      throw other.failure(sqlite3_errcode(other.handle), "backup")
    }
    let code = sqlite3_backup_step(backup, -1)
    sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE else { throw other.failure(code, "backup") }
  }

  package var changes: Int { Int(sqlite3_changes64(handle)) }

  /// Adds a deterministic SQL function of any number of arguments.
  package func addFunction(_ name: String, _ body: @escaping SQLFunction.Body) throws(DatabaseError)
  {
    let context = Unmanaged.passRetained(SQLFunction(body)).toOpaque()
    // SQLite calls the destructor also after a failure.
    let code = sqlite3_create_function_v2(
      handle, name, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, context,
      { context, count, values in SQLFunction.call(context, count, values) }, nil, nil,
      { context in
        guard let context else { return }
        Unmanaged<SQLFunction>.fromOpaque(context).release()
      })
    guard code == SQLITE_OK else { throw failure(code, name) }
  }

  func failure(_ code: Int32, _ what: String) -> DatabaseError {
    Database.error(code, handle, path, what)
  }

  private static func error(
    _ code: Int32, _ handle: OpaquePointer?, _ path: String, _ what: String
  ) -> DatabaseError {
    let words = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
    switch code & 0xFF {
    case SQLITE_IOERR where code == damagedPage:
      return .corrupt("\(path): a page does not have its checksum")
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: return .corrupt("\(path): \(words)")
    case SQLITE_BUSY, SQLITE_LOCKED: return .busy("\(path): \(words)")
    case SQLITE_FULL:
      return .system(SystemError(errno: Errno.noSpace, call: "sqlite", subject: path))
    case SQLITE_READONLY: return .readOnly(path)
    case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE, SQLITE_TOOBIG,
      SQLITE_MISUSE, SQLITE_AUTH:
      return .refused(code: code, message: "\(path): \(words) (\(what))")
    default:
      let system = handle.map { sqlite3_system_errno($0) } ?? 0
      return .system(
        SystemError(
          errno: system == 0 ? Errno.inputOutput : system, call: "sqlite (\(words), \(what))",
          subject: path))
    }
  }

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
