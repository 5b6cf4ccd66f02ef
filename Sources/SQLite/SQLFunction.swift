internal import CSQLite

package final class SQLFunction {
  package typealias Body = @Sendable (Arguments) -> Int64

  package enum Argument {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8.
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
  }

  package struct Arguments {
    fileprivate let values: UnsafeMutablePointer<OpaquePointer?>?
    package let count: Int

    package subscript(index: Int) -> Argument {
      guard let value = values?[index] else { return .null }
      switch sqlite3_value_type(value) {
      case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
      case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
      case SQLITE_NULL: return .null
      case let type:
        // Before sqlite3_value_bytes, because this may convert the value.
        let start = sqlite3_value_blob(value)
        let bytes = UnsafeRawBufferPointer(
          start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value)))
        return type == SQLITE_TEXT ? .text(bytes) : .blob(bytes)
      }
    }
  }

  private let body: Body

  init(_ body: @escaping Body) { self.body = body }

  static func call(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    guard let data = sqlite3_user_data(context) else { return sqlite3_result_null(context) }
    let function = Unmanaged<SQLFunction>.fromOpaque(data).takeUnretainedValue()
    sqlite3_result_int64(
      context, function.body(Arguments(values: values, count: Int(count))))
  }
}
