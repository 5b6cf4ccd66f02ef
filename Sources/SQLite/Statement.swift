internal import CSQLite

package final class Statement {
  package enum Kind: Sendable { case null, integer, real, text, blob }

  // SQLITE_TRANSIENT: SQLite copies before it returns.
  private static var transient: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }

  let handle: OpaquePointer
  // The connection finalizes its statements before it is freed.
  private unowned let database: Database

  init(_ handle: OpaquePointer, database: Database) {
    self.handle = handle
    self.database = database
  }

  /// Ends a statement of ``Database/statement(_:)``.
  package func close() { sqlite3_finalize(handle) }

  package func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  // A value of nil leaves the parameter, numbered from 1, unchanged: NULL after a reset.

  @discardableResult
  package func bind(_ index: Int32, _ value: Int64?) -> Statement {
    if let value { sqlite3_bind_int64(handle, index, value) }
    return self
  }

  @discardableResult
  package func bind(_ index: Int32, _ value: Double) -> Statement {
    sqlite3_bind_double(handle, index, value)
    return self
  }

  @discardableResult
  package func bind(_ index: Int32, _ bytes: [UInt8]?) -> Statement {
    bytes?.withUnsafeBytes { bind(index, $0) } ?? self
  }

  @discardableResult
  package func bind(_ index: Int32, _ bytes: UnsafeRawBufferPointer) -> Statement {
    // An empty blob needs an address.
    if bytes.isEmpty {
      sqlite3_bind_zeroblob(handle, index, 0)
    } else {
      sqlite3_bind_blob64(
        handle, index, bytes.baseAddress, UInt64(bytes.count), Self.transient)
    }
    return self
  }

  @discardableResult
  package func bind(_ index: Int32, _ text: String?) -> Statement {
    guard var text else { return self }
    // Without an address it would be null.
    if text.isEmpty { return bindText(index, "", 0) }
    return text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { bindText(index, $0.baseAddress, $0.count) }
    }
  }

  private func bindText(_ index: Int32, _ start: UnsafePointer<CChar>?, _ count: Int) -> Statement {
    sqlite3_bind_text64(
      handle, index, start, UInt64(count), Self.transient, UInt8(SQLITE_UTF8))
    return self
  }

  /// Binds a column of another statement's row.
  @discardableResult
  package func bind(_ index: Int32, column: Int32, of other: Statement) -> Statement {
    sqlite3_bind_value(handle, index, sqlite3_column_value(other.handle, column))
    return self
  }

  /// False after the last row.
  package func step() throws(DatabaseError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = database.failure(code, String(cString: sqlite3_sql(handle)))
      sqlite3_reset(handle)
      throw error
    }
  }

  package func run() throws(DatabaseError) {
    _ = try step()
    sqlite3_reset(handle)
  }

  /// Returns the first row as a body reads it, and resets the statement.
  package func first<Row>(_ read: (Statement) -> Row) throws(DatabaseError) -> Row? {
    defer { reset() }
    return try step() ? read(self) : nil
  }

  /// Returns all rows as a body reads them, and resets the statement.
  @discardableResult
  package func all<Row>(_ read: (Statement) throws -> Row) throws -> [Row] {
    defer { reset() }
    var rows: [Row] = []
    while try step() { rows.append(try read(self)) }
    return rows
  }

  package func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(handle, column) == SQLITE_NULL
  }

  package func isNumber(_ column: Int32) -> Bool {
    sqlite3_column_type(handle, column) == SQLITE_INTEGER
  }

  /// 0 for NULL.
  package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
  package func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

  /// Empty for NULL.
  package func bytes(_ column: Int32) -> [UInt8] { Array(blob(column)) }
  package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
  /// Bytes that are not UTF-8 are replaced.
  package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
  package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }
  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }
  /// 0 for a statement without rows.
  package var columnCount: Int32 { sqlite3_column_count(handle) }

  package func name(_ column: Int32) -> String {
    sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
  }

  package func kind(_ column: Int32) -> Kind {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  package func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  /// Text as UTF-8, valid until the next step.
  package func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
    // Before sqlite3_column_bytes, because this may convert.
    let start = sqlite3_column_text(handle, column)
    return UnsafeBufferPointer(
      start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
  }

  /// Bytes, valid until the next step.
  package func blob(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(handle, column)
    return UnsafeRawBufferPointer(
      start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
  }
}
