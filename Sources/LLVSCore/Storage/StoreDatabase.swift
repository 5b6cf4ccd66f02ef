internal import Platform
internal import SQLite

/// A connection to one of the store's SQLite files; it turns SQLite's errors into ``StoreError``.
/// - Concurrency: one thread at a time; the owner ensures this.
package final class StoreDatabase {
  private let database: Database

  var path: String { database.path }
  /// The number of frames in the log after the last commit on this connection; see ``watchLog()``.
  var logFrames: Int { database.logFrames }
  var changes: Int { database.changes }

  /// Opens a file, or creates one, with the SQL functions for checksums of rows.
  init(path: String, mode: Database.Mode) throws(StoreError) {
    database = try StoreError.wrapping { () throws(DatabaseError) in
      let database = try Database(path: path, mode: mode)
      try database.addFunction("llvs_sum") { RowSum.of($0) }
      return database
    }
  }

  /// Runs statements that return no rows; they are not kept.
  func execute(_ sql: String) throws(StoreError) {
    try StoreError.wrapping { () throws(DatabaseError) in try database.execute(sql) }
  }

  /// Returns the cached statement with this text, reset and with nothing bound.
  func prepared(_ sql: StaticString) throws(StoreError) -> StoreStatement {
    try StoreError.wrapping { () throws(DatabaseError) in
      StoreStatement(try database.prepared(sql))
    }
  }

  /// Returns the first column of the first row of a query; nil without a row.
  func integer(_ sql: String) throws(StoreError) -> Int64? {
    try StoreError.wrapping { () throws(DatabaseError) in try database.integer(sql) }
  }

  /// Calls the body with every row of a query; the query is not kept.
  func rows(_ sql: String, _ body: (StoreStatement) -> Void) throws(StoreError) {
    try StoreError.wrapping { () throws(DatabaseError) in
      try database.rows(sql) { body(StoreStatement($0)) }
    }
  }

  /// Returns the faults that `PRAGMA integrity_check` finds, at most 100; none in a sound database.
  func integrityCheck() throws(StoreError) -> [String] {
    try StoreError.wrapping { () throws(DatabaseError) in try database.integrityCheck() }
  }

  /// Runs the body in a transaction that acquires the write lock at once; an error rolls it back.
  func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try prepared("BEGIN IMMEDIATE").run()
    let result: Result
    do throws(StoreError) {
      result = try body()
      try prepared("COMMIT").run()
    } catch {
      database.rollBack()
      throw error
    }
    return result
  }

  func rollBack() { database.rollBack() }

  /// Counts the frames of the log from now on; the caller must then call ``checkpoint()``.
  func watchLog() { database.watchLog() }

  /// Copies the frames of the log into the database, except those that a reader still needs.
  func checkpoint() { database.checkpoint() }

  /// Copies the whole log into the database and empties it, unless another connection is using it.
  func emptyLog() { database.emptyLog() }

  /// Copies the whole database, in its current state, into a new file; other connections may go on writing.
  func copy(to target: String) throws(StoreError) {
    try StoreError.wrapping { () throws(DatabaseError) in
      try database.copy(into: try Database(path: target, mode: .create))
    }
  }
}

struct StoreStatement {
  private let statement: Statement

  init(_ statement: Statement) { self.statement = statement }
  func reset() { statement.reset() }

  // MARK: Binding, from 1; nil is NULL

  @discardableResult
  func bind(_ index: Int32, _ value: Int64?) -> StoreStatement {
    statement.bind(index, value)
    return self
  }

  func bind(_ index: Int32, _ value: Double) -> StoreStatement {
    statement.bind(index, value)
    return self
  }

  func bind(_ index: Int32, _ value: VersionNumber?) -> StoreStatement {
    bind(index, value.map { Int64($0.rawValue) })
  }

  @discardableResult
  func bind(_ index: Int32, _ bytes: [UInt8]?) -> StoreStatement {
    statement.bind(index, bytes)
    return self
  }

  func bind(_ index: Int32, _ text: String) -> StoreStatement { bind(index, Array(text.utf8)) }

  func step() throws(StoreError) -> Bool {
    try StoreError.wrapping { () throws(DatabaseError) in try statement.step() }
  }

  func run() throws(StoreError) {
    try StoreError.wrapping { () throws(DatabaseError) in try statement.run() }
  }

  /// Calls the body with each row until it returns false, and resets the statement.
  func forEach(_ body: (StoreStatement) throws(StoreError) -> Bool) throws(StoreError) {
    defer { reset() }
    while try step() { guard try body(self) else { return } }
  }

  /// Returns the body's result for the first row, and resets the statement; nil without a row.
  func first<Value>(
    _ read: (StoreStatement) throws(StoreError) -> Value?
  ) throws(StoreError) -> Value? {
    defer { reset() }
    return try step() ? try read(self) : nil
  }

  /// Returns the body's results for all rows, and resets the statement.
  func all<Value>(
    _ read: (StoreStatement) throws(StoreError) -> Value
  ) throws(StoreError) -> [Value] {
    var values: [Value] = []
    try forEach { (row) throws(StoreError) in
      values.append(try read(row))
      return true
    }
    return values
  }

  // MARK: Columns, from 0

  func isNull(_ column: Int32) -> Bool { statement.isNull(column) }
  func isNumber(_ column: Int32) -> Bool { statement.isNumber(column) }
  func integer(_ column: Int32) -> Int64 { statement.integer(column) }
  func optionalInteger(_ column: Int32) -> Int64? { statement.optionalInteger(column) }

  func number(_ column: Int32) -> VersionNumber {
    VersionNumber(UInt32(truncatingIfNeeded: integer(column)))
  }

  func optionalNumber(_ column: Int32) -> VersionNumber? { isNull(column) ? nil : number(column) }
  func bytes(_ column: Int32) -> [UInt8] { statement.bytes(column) }
  func optionalBytes(_ column: Int32) -> [UInt8]? { statement.optionalBytes(column) }
  func text(_ column: Int32) -> String { statement.text(column) }

  /// Returns a column as readable text: a number, text, or bytes in hexadecimal digits.
  func words(_ column: Int32) -> String {
    if isNumber(column) { return "\(integer(column))" }
    let bytes = bytes(column)
    if let text = String(validating: bytes, as: UTF8.self),
      !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
    {
      return "\"\(text)\""
    }
    return bytes.prefix(32).hex
  }
}

extension StoreError {
  fileprivate static func wrapping<R>(
    _ body: () throws(DatabaseError) -> R
  ) throws(StoreError) -> R {
    do throws(DatabaseError) { return try body() } catch { throw StoreError(error) }
  }

  private init(_ error: DatabaseError) {
    self =
      switch error {
      case .corrupt(let why): .corrupt(why)
      case .busy(let why): .busy(why)
      case .readOnly: .readOnly
      case .refused(_, let why):
        .system(SystemError(errno: Errno.inputOutput, call: "sqlite (\(why))"))
      case .system(let error): .system(error)
      }
  }
}
