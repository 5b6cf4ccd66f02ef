package enum ByteText {
  /// Returns a number with its unit: `5.9 MB`. Units are powers of 1000.
  package static func of(_ bytes: UInt64) -> String {
    let units = ["KB", "MB", "GB", "TB", "PB"]
    guard bytes >= 1000 else { return "\(bytes) B" }
    var value = Double(bytes) / 1000
    var unit = 0
    while value >= 999.5, unit < units.count - 1 {
      value /= 1000
      unit += 1
    }
    let tenths = Int((value * 10).rounded())
    return value < 10
      ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(Int(value.rounded())) \(units[unit])"
  }
}
