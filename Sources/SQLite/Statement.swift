internal import CSQLite

/// A prepared statement of one connection.
package final class Statement {
  let handle: OpaquePointer
  // The connection owns its statements and finalizes them before it goes.
  private unowned let database: Database

  init(_ handle: OpaquePointer, database: Database) {
    self.handle = handle
    self.database = database
  }

  func finalize() { sqlite3_finalize(handle) }

  /// Prepares the statement for another run, with nothing bound.
  package func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  // MARK: Binding, from 1

  /// Binds an integer to a parameter, numbered from 1.
  @discardableResult
  package func bind(_ index: Int32, _ value: Int64) -> Statement {
    sqlite3_bind_int64(handle, index, value)
    return self
  }

  /// Binds an integer to a parameter, numbered from 1; nil leaves it as it is, NULL after a reset.
  @discardableResult
  package func bind(_ index: Int32, _ value: Int64?) -> Statement {
    guard let value else { return self }
    return bind(index, value)
  }

  /// Binds a floating-point number to a parameter, numbered from 1.
  @discardableResult
  package func bind(_ index: Int32, _ value: Double) -> Statement {
    sqlite3_bind_double(handle, index, value)
    return self
  }

  /// Binds a blob to a parameter, numbered from 1; SQLite copies the bytes.
  @discardableResult
  package func bind(_ index: Int32, _ bytes: [UInt8]) -> Statement {
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

  /// Binds a blob to a parameter, numbered from 1; nil leaves it as it is, NULL after a reset.
  @discardableResult
  package func bind(_ index: Int32, _ bytes: [UInt8]?) -> Statement {
    guard let bytes else { return self }
    return bind(index, bytes)
  }

  // MARK: Stepping

  /// Goes to the next row; false if there is none.
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

  /// Runs a statement that returns no rows.
  package func run() throws(DatabaseError) {
    _ = try step()
    sqlite3_reset(handle)
  }

  // MARK: Columns, from 0

  /// Returns true if a column, numbered from 0, is NULL.
  package func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(handle, column) == SQLITE_NULL
  }

  /// Returns true if a column, numbered from 0, is an integer.
  package func isNumber(_ column: Int32) -> Bool {
    sqlite3_column_type(handle, column) == SQLITE_INTEGER
  }

  /// Returns a column, numbered from 0, as an integer; 0 for NULL.
  package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  /// Returns a column, numbered from 0, as an integer; nil for NULL.
  package func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

  /// Returns a column, numbered from 0, as bytes; none for NULL.
  package func bytes(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, column) else { return [] }
    return Array(
      UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  /// Returns a column, numbered from 0, as bytes; nil for NULL.
  package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

  /// Returns a column, numbered from 0, as text; bytes that are not UTF-8 are replaced.
  package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}
