internal import SQLite

/// The checksum of a row, which statements compute with the SQL function `llvs_sum(...)`: XXH3-64
/// over the columns, with their types and lengths.
enum RowSum {
  /// The type codes of SQLite's C interface; the checksum covers them.
  private enum TypeCode {
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
    static let null: UInt8 = 5
  }

  /// Returns the checksum of arguments. SQLite returns zeros without their sign, so the sign does
  /// not count.
  static func of(_ arguments: SQLFunction.Arguments) -> Int64 {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    for index in 0..<arguments.count {
      switch arguments[index] {
      case .integer(let number):
        bytes.append(TypeCode.integer)
        bytes.append(bigEndian: UInt64(bitPattern: number))
      case .real(let number):
        bytes.append(TypeCode.real)
        bytes.append(bigEndian: (number == 0 ? 0 : number).bitPattern)
      case .null:
        bytes.append(TypeCode.null)
      case .text(let value):
        bytes.append(TypeCode.text)
        append(value, to: &bytes)
      case .blob(let value):
        bytes.append(TypeCode.blob)
        append(value, to: &bytes)
      }
    }
    return Int64(bitPattern: Checksum.of(bytes))
  }

  private static func append(_ value: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
    bytes.append(bigEndian: UInt64(value.count))
    bytes.append(contentsOf: value)
  }
}
