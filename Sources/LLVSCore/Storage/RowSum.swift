internal import SQLite

/// The checksum of a row, `llvs_sum(...)` in SQL: XXH3-64 over its columns' types, lengths, bytes.
enum RowSum {
  /// Returns the checksum of arguments. The sign of zeros is ignored, because SQLite does not keep it. The numbers
  /// are the type codes of SQLite's C interface.
  static func of(_ arguments: SQLFunction.Arguments) -> Int64 {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    for index in 0..<arguments.count {
      switch arguments[index] {
      case .integer(let number):
        bytes.append(1)
        bytes.append(bigEndian: UInt64(bitPattern: number))
      case .real(let number):
        bytes.append(2)
        bytes.append(bigEndian: (number == 0 ? 0 : number).bitPattern)
      case .null: bytes.append(5)
      case .text(let value):
        bytes.append(3)
        append(value, to: &bytes)
      case .blob(let value):
        bytes.append(4)
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
