internal import CSQLite
internal import Platform

/// A connection to an SQLite file; it keeps its prepared statements.
///
/// Every call throws ``DatabaseError``.
///
/// - Concurrency: one thread at a time; the owner sees to that.
package final class Database {
  /// The way to open a file; `create` makes a file that is not there.
  package enum Mode: Sendable { case readWrite, create, readOnly }

  /// The options for opening a database.
  package struct Options: Sendable {
    /// The time that a call waits for another connection that has the database locked, in
    /// milliseconds.
    package var patience: Int32 = 10_000
    /// True for a document of the user's: links are followed, and the umask decides who can read a
    /// new file.
    package var isDocument = false
    /// True for a file whose pages have checksums; see ``DatabaseError/corrupt(_:)``. It must be so
    /// from the file's first page on.
    package var hasPageSums = false

    /// Creates the options of a file that belongs to this program alone.
    package init() {}

    /// Returns the options of a document.
    package static func document(patience: Int32) -> Options {
      var options = Options()
      options.patience = patience
      options.isDocument = true
      return options
    }
  }

  /// The path of a database that is in memory alone.
  package static let memory = ":memory:"

  /// The path of the file.
  package let path: String
  let handle: OpaquePointer
  private let patience: Int32
  // Prepared statements by the address of their text: a StaticString keeps one address.
  private var statements: [UnsafeRawPointer: Statement] = [:]
  var changeObserver: ChangeObserver?
  /// The number of frames in the write-ahead log after the last commit on this connection; see
  /// ``watchLog()``.
  package private(set) var logFrames = 0

  /// Opens a file, or makes one that only its owner can read.
  ///
  /// - Throws: ``DatabaseError/system(_:)`` with ELOOP if the path is not a regular file and the
  ///   options do not say that it is a document; SQLite's errors.
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
    var code = SQLITE_CANTOPEN
    if !options.hasPageSums {
      code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
    } else if PageSums.register() {
      code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, PageSums.name)
      var reserved = PageSums.reserved
      if code == SQLITE_OK {
        code = sqlite3_file_control(opened, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved)
      }
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

  /// Refuses a path that is not a regular file, a link included, and makes a missing file so that
  /// only its owner can read it: the files that SQLite makes next to it get the same mode.
  ///
  /// An existing file is not opened here: closing it would release the locks that SQLite holds on
  /// it in this process (fcntl(2)).
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
    for statement in statements.values { statement.finalize() }
    sqlite3_close_v2(handle)
  }

  /// Runs statements that return no rows; they are not kept.
  package func execute(_ sql: String) throws(DatabaseError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code, sql) }
  }

  /// Returns the kept statement with this text, reset and with nothing bound.
  package func prepared(_ sql: StaticString) throws(DatabaseError) -> Statement {
    let key = UnsafeRawPointer(sql.utf8Start)
    if let statement = statements[key] {
      statement.reset()
      return statement
    }
    var compiled: OpaquePointer?
    let code = sqlite3_prepare_v3(
      handle, "\(sql)", -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
    guard code == SQLITE_OK, let compiled else { throw failure(code, "\(sql)") }
    let statement = Statement(compiled, database: self)
    statements[key] = statement
    return statement
  }

  /// Returns the first column of the first row of a query; nil without a row. The query is not
  /// kept.
  package func integer(_ sql: String) throws(DatabaseError) -> Int64? {
    var compiled: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &compiled, nil)
    guard code == SQLITE_OK, let compiled else { throw failure(code, sql) }
    defer { sqlite3_finalize(compiled) }
    switch sqlite3_step(compiled) {
    case SQLITE_ROW: return sqlite3_column_int64(compiled, 0)
    case SQLITE_DONE: return nil
    case let code: throw failure(code, sql)
    }
  }

  /// Calls the body with every row of a query; the query is not kept.
  package func rows(_ sql: String, _ body: (Statement) -> Void) throws(DatabaseError) {
    var compiled: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &compiled, nil)
    guard code == SQLITE_OK, let compiled else { throw failure(code, sql) }
    let statement = Statement(compiled, database: self)
    defer { statement.finalize() }
    while try statement.step() { body(statement) }
  }

  /// Returns the faults that `PRAGMA integrity_check` finds, at most 100; none in a sound database.
  package func integrityCheck() throws(DatabaseError) -> [String] {
    let statement = try prepared("PRAGMA integrity_check(100)")
    defer { statement.reset() }
    var lines: [String] = []
    while try statement.step() { lines.append(statement.text(0)) }
    return lines == ["ok"] ? [] : lines
  }

  /// Runs the body in a transaction that acquires the write lock at once; an error rolls it back.
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

  /// Rolls back the open transaction, if there is one.
  package func rollBack() {
    // A COMMIT that failed may have rolled back already; then this does nothing.
    if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
  }

  /// Counts the frames of the write-ahead log from now on; the caller then has to call
  /// ``checkpoint()``, as SQLite makes no checkpoints of its own.
  package func watchLog() {
    // The connection is closed before its owner goes: the context outlives every call.
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_wal_hook(
      handle,
      { context, _, _, frames in
        guard let context else { return SQLITE_OK }
        Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().logFrames = Int(frames)
        return SQLITE_OK
      }, context)
  }

  /// Writes the changed pages of the open transaction to the write-ahead log, so that a lack of room
  /// on the disk is found before the commit.
  package func flushPages() throws(DatabaseError) {
    let code = sqlite3_db_cacheflush(handle)
    guard code == SQLITE_OK else { throw failure(code, "flush") }
  }

  /// Copies the frames of the write-ahead log into the database, except those that a reader still
  /// needs; when all are copied, the next transaction writes the log from its beginning.
  package func checkpoint() {
    // If this fails, everything is still in the log, and the next commit tries again.
    sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
  }

  /// Copies the whole log into the database and empties it, unless another connection uses it now.
  package func emptyLog() {
    sqlite3_busy_timeout(handle, 0)
    // If this fails, as on a full disk, everything is still in the log, and the next connection
    // reads it.
    let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    sqlite3_busy_timeout(handle, patience)
    if code == SQLITE_OK { logFrames = 0 }
  }

  /// Copies the whole database, as it is now, into a new file; other connections may go on writing.
  package func copy(to target: String) throws(DatabaseError) {
    try copy(into: try Database(path: target, mode: .create))
  }

  /// Replaces all that another database holds by what this one holds now.
  ///
  /// - Throws: ``DatabaseError/busy(_:)`` where one of both has a transaction open.
  package func copy(into other: Database) throws(DatabaseError) {
    guard let backup = sqlite3_backup_init(other.handle, "main", handle, "main") else {
      throw other.failure(sqlite3_errcode(other.handle), "backup")
    }
    let code = sqlite3_backup_step(backup, -1)
    sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE else { throw other.failure(code, "backup") }
  }

  /// The number of rows that the last statement changed.
  package var changes: Int { Int(sqlite3_changes64(handle)) }

  /// Adds an SQL function of any number of arguments that returns a number and depends on its
  /// arguments alone.
  package func addFunction(_ name: String, _ body: @escaping SQLFunction.Body) throws(DatabaseError)
  {
    let context = Unmanaged.passRetained(SQLFunction(body)).toOpaque()
    // SQLite calls the destructor even if it fails to add the function.
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
    case SQLITE_IOERR where code == PageSums.damaged:
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
}
