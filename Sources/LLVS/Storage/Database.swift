internal import CSQLite
internal import Platform

/// One connection to an SQLite file, with its prepared statements kept.
///
/// - Concurrency: used by one thread at a time; whoever owns it sees to that.
final class Database {
  enum Mode { case readWrite, create, readOnly }

  /// How long to wait for who holds the database, in milliseconds.
  private static let patience: Int32 = 10_000

  let path: String
  private let handle: OpaquePointer
  // Statements by the address of their text: a StaticString has one for life.
  private var statements: [UnsafeRawPointer: Statement] = [:]
  /// Frames that the log has had since the last commit on this connection; see ``watchLog()``.
  private(set) var logFrames = 0

  init(path: String, mode: Mode) throws(StoreError) {
    do throws(SystemError) {
      try Database.prepare(path, isMade: mode == .create)
    } catch {
      throw .system(error)
    }
    var opened: OpaquePointer?
    let flags: Int32 =
      switch mode {
      case .readWrite: SQLITE_OPEN_READWRITE
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .readOnly: SQLITE_OPEN_READONLY
      }
    let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened else {
      let error = Database.error(code, opened, path, "open")
      sqlite3_close_v2(opened)
      throw error
    }
    handle = opened
    self.path = path
    sqlite3_extended_result_codes(opened, 1)
    let added = Database.addSum(to: opened)
    guard added == SQLITE_OK else {
      let error = Database.error(added, opened, path, "llvs_sum")
      sqlite3_close_v2(opened)
      throw error
    }
    sqlite3_busy_timeout(opened, Database.patience)
  }

  /// Refuses what is no file, a link included, and makes one that only its owner reads: the files that
  /// SQLite puts beside it get its mode.
  ///
  /// One that is there is not opened: closing it would drop the locks that SQLite holds on it in this
  /// process (fcntl(2)).
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

  /// Runs statements that give no rows and are not worth keeping.
  func execute(_ sql: String) throws(StoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code, sql) }
  }

  /// The kept statement with this text, reset and with nothing bound.
  func prepared(_ sql: StaticString) throws(StoreError) -> Statement {
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

  /// The first column of the first row of a query.
  func integer(_ sql: String) throws(StoreError) -> Int64? {
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

  /// Calls the body with every row of a query that is not worth keeping.
  func rows(_ sql: String, _ body: (Statement) -> Void) throws(StoreError) {
    var compiled: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &compiled, nil)
    guard code == SQLITE_OK, let compiled else { throw failure(code, sql) }
    let statement = Statement(compiled, database: self)
    defer { statement.finalize() }
    while try statement.step() { body(statement) }
  }

  /// What `PRAGMA integrity_check` finds wrong; nothing in a sound database.
  func integrityCheck() throws(StoreError) -> [String] {
    let statement = try prepared("PRAGMA integrity_check(100)")
    defer { statement.reset() }
    var lines: [String] = []
    while try statement.step() { lines.append(statement.text(0)) }
    return lines == ["ok"] ? [] : lines
  }

  /// Runs the body in a transaction that takes the write lock at once.
  func transaction<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try prepared("BEGIN IMMEDIATE").run()
    let result: Result
    do throws(StoreError) {
      result = try body()
      try prepared("COMMIT").run()
    } catch {
      // A COMMIT that failed may have rolled back already; then there is nothing to undo.
      if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
      throw error
    }
    return result
  }

  /// Counts the frames of the log from here on, and leaves checkpoints to ``checkpoint()``.
  func watchLog() {
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

  /// Brings what stands in the log to the database as far as no reader needs it in the log; with all of it
  /// there, the next transaction begins the log again.
  func checkpoint() {
    // Where it fails, everything stands in the log still: the next commit tries again.
    sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
  }

  /// Brings the whole log to the database and cuts it off, where nobody else needs it now.
  func emptyLog() {
    sqlite3_busy_timeout(handle, 0)
    // Where it fails, as on a full disk, everything stands in the log still, and the next to open reads it.
    let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    sqlite3_busy_timeout(handle, Database.patience)
    if code == SQLITE_OK { logFrames = 0 }
  }

  /// Copies the whole database, as it is now, into a new file; others go on writing meanwhile.
  func copy(to target: String) throws(StoreError) {
    let other = try Database(path: target, mode: .create)
    guard let backup = sqlite3_backup_init(other.handle, "main", handle, "main") else {
      throw other.failure(sqlite3_errcode(other.handle), "backup")
    }
    let code = sqlite3_backup_step(backup, -1)
    sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE else { throw other.failure(code, "backup") }
  }

  var changes: Int { Int(sqlite3_changes64(handle)) }

  func failure(_ code: Int32, _ what: String) -> StoreError {
    Database.error(code, handle, path, what)
  }

  private static func error(
    _ code: Int32, _ handle: OpaquePointer?, _ path: String, _ what: String
  ) -> StoreError {
    let words = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
    switch code & 0xFF {
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: return .corrupt("\(path): \(words)")
    case SQLITE_BUSY, SQLITE_LOCKED: return .busy("\(path): \(words)")
    case SQLITE_FULL:
      return .system(SystemError(errno: Errno.noSpace, call: "sqlite", subject: path))
    case SQLITE_READONLY: return .readOnly
    default:
      let system = handle.map { sqlite3_system_errno($0) } ?? 0
      return .system(
        SystemError(
          errno: system == 0 ? Errno.inputOutput : system, call: "sqlite (\(words), \(what))",
          subject: path))
    }
  }
}

/// A prepared statement of one connection.
final class Statement {
  private let handle: OpaquePointer
  // The connection owns its statements and finalizes them before it goes.
  private unowned let database: Database

  fileprivate init(_ handle: OpaquePointer, database: Database) {
    self.handle = handle
    self.database = database
  }

  fileprivate func finalize() { sqlite3_finalize(handle) }

  func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  // MARK: Binding, from 1

  @discardableResult
  func bind(_ index: Int32, _ value: Int64) -> Statement {
    sqlite3_bind_int64(handle, index, value)
    return self
  }

  @discardableResult
  func bind(_ index: Int32, _ value: Int64?) -> Statement {
    guard let value else { return self }
    return bind(index, value)
  }

  @discardableResult
  func bind(_ index: Int32, _ value: Double) -> Statement {
    sqlite3_bind_double(handle, index, value)
    return self
  }

  @discardableResult
  func bind(_ index: Int32, _ value: VersionNumber) -> Statement {
    bind(index, Int64(value.rawValue))
  }

  @discardableResult
  func bind(_ index: Int32, _ value: VersionNumber?) -> Statement {
    guard let value else { return self }
    return bind(index, value)
  }

  @discardableResult
  func bind(_ index: Int32, _ bytes: [UInt8]) -> Statement {
    // SQLITE_TRANSIENT: SQLite copies before this returns. An empty blob needs an address.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    _ = bytes.withUnsafeBytes {
      if $0.isEmpty {
        sqlite3_bind_zeroblob(handle, index, 0)
      } else {
        sqlite3_bind_blob64(handle, index, $0.baseAddress, UInt64($0.count), transient)
      }
    }
    return self
  }

  @discardableResult
  func bind(_ index: Int32, _ bytes: [UInt8]?) -> Statement {
    guard let bytes else { return self }
    return bind(index, bytes)
  }

  // MARK: Stepping

  /// Goes to the next row; false when there is none.
  func step() throws(StoreError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = database.failure(code, String(cString: sqlite3_sql(handle)))
      sqlite3_reset(handle)
      throw error
    }
  }

  /// Runs a statement that gives no rows.
  func run() throws(StoreError) {
    _ = try step()
    sqlite3_reset(handle)
  }

  // MARK: Columns, from 0

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  func isNumber(_ column: Int32) -> Bool {
    sqlite3_column_type(handle, column) == SQLITE_INTEGER
  }

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

  func number(_ column: Int32) -> VersionNumber {
    VersionNumber(UInt32(truncatingIfNeeded: integer(column)))
  }

  func optionalNumber(_ column: Int32) -> VersionNumber? {
    isNull(column) ? nil : number(column)
  }

  func bytes(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, column) else { return [] }
    return Array(
      UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

  func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}
