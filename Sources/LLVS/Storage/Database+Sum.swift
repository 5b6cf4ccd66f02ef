internal import CSQLite

/// The SQL function `llvs_sum(...)`: XXH3-64 of its arguments, their types and lengths included; and
/// `llvs_sum_negative(...)`, the same with a zero that has a sign in place of one that has lost it.
extension Database {
  static func addSum(to handle: OpaquePointer) -> Int32 {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    let added = sqlite3_create_function_v2(
      handle, "llvs_sum", -1, flags, nil,
      { context, count, values in Database.sum(context, count, values, zero: 0) }, nil, nil, nil)
    guard added == SQLITE_OK else { return added }
    return sqlite3_create_function_v2(
      handle, "llvs_sum_negative", -1, flags, nil,
      { context, count, values in Database.sum(context, count, values, zero: -0.0) }, nil, nil, nil)
  }

  private static func sum(
    _ context: OpaquePointer?, _ count: Int32,
    _ values: UnsafeMutablePointer<OpaquePointer?>?, zero: Double
  ) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    for index in 0..<Int(count) {
      guard let value = values?[index] else { continue }
      let type = sqlite3_value_type(value)
      bytes.append(UInt8(truncatingIfNeeded: type))
      switch type {
      case SQLITE_INTEGER:
        bytes.append(bigEndian: UInt64(bitPattern: sqlite3_value_int64(value)))
      case SQLITE_FLOAT:
        let number = sqlite3_value_double(value)
        bytes.append(bigEndian: (number == 0 ? zero : number).bitPattern)
      case SQLITE_NULL: break
      default:
        // sqlite3_value_blob before sqlite3_value_bytes: the first may convert.
        let start = sqlite3_value_blob(value)
        let length = Int(sqlite3_value_bytes(value))
        bytes.append(bigEndian: UInt64(length))
        if let start {
          bytes.append(contentsOf: UnsafeRawBufferPointer(start: start, count: length))
        }
      }
    }
    sqlite3_result_int64(context, Int64(bitPattern: Checksum.of(bytes)))
  }
}

extension Statement {
  /// A column in words for people: a number, text, or bytes as hexadecimal digits.
  func words(_ column: Int32) -> String {
    if isNumber(column) { return "\(integer(column))" }
    let bytes = bytes(column)
    if let text = String(validating: bytes, as: UTF8.self),
      !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
    {
      return "\"\(text)\""
    }
    return bytes.prefix(32).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
