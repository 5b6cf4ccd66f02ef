internal import CSQLite

extension Statement {
  /// The kinds of values that SQLite stores.
  package enum Kind: Sendable { case null, integer, real, text, blob }

  /// Ends a statement that ``Database/statement(_:)`` gave.
  package func close() { finalize() }

  // MARK: Binding, from 1

  /// Binds text, with any NUL in it.
  @discardableResult
  package func bind(_ index: Int32, _ text: String) -> Statement {
    var text = text
    // SQLITE_TRANSIENT: SQLite copies before this returns.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    text.withUTF8 { bytes in
      let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
      if let start, !bytes.isEmpty {
        _ = sqlite3_bind_text64(
          handle, index, start, UInt64(bytes.count), transient, UInt8(SQLITE_UTF8))
      } else {
        // Without an address it would be a null.
        _ = sqlite3_bind_text64(handle, index, "", 0, transient, UInt8(SQLITE_UTF8))
      }
    }
    return self
  }

  @discardableResult
  package func bind(_ index: Int32, _ text: String?) -> Statement {
    guard let text else { return self }
    return bind(index, text)
  }

  /// Binds bytes that SQLite copies.
  @discardableResult
  package func bind(_ index: Int32, _ bytes: UnsafeRawBufferPointer) -> Statement {
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    if bytes.isEmpty {
      sqlite3_bind_zeroblob(handle, index, 0)
    } else {
      sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), transient)
    }
    return self
  }

  /// Binds a column of the row that another statement is at, of whatever kind it is.
  @discardableResult
  package func bind(_ index: Int32, column: Int32, of other: Statement) -> Statement {
    sqlite3_bind_value(handle, index, sqlite3_column_value(other.handle, column))
    return self
  }

  /// True if the statement changes no file.
  package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  /// The number of values that the statement takes.
  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }

  // MARK: Columns, from 0

  /// The number of columns of a row; 0 for a statement that gives none.
  package var columnCount: Int32 { sqlite3_column_count(handle) }

  /// A column's name.
  package func name(_ column: Int32) -> String {
    sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
  }

  /// The kind of value that a column of this row has.
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

  /// Text as UTF-8, whatever encoding the file has, while the statement stays at this row.
  package func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
    // sqlite3_column_text before sqlite3_column_bytes: the first may convert.
    let start = sqlite3_column_text(handle, column)
    return UnsafeBufferPointer(
      start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
  }

  /// The bytes of a blob while the statement stays at this row.
  package func blob(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(handle, column)
    return UnsafeRawBufferPointer(
      start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
  }
}
