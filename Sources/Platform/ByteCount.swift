/// Numbers of bytes as people read them.
package enum ByteCount {
  private static let width = 8
  /// The column's text for an unknown number.
  package static let unknown = String(repeating: " ", count: width - 1) + "?"

  /// Formats bytes with three digits: `512 B`, `1.21 kB`, `34.0 MB`; a kB is 1000 bytes.
  package static func text(_ bytes: UInt64) -> String {
    var value = Double(bytes)
    var unit = "B"
    for next in ["kB", "MB", "GB", "TB", "PB"] where value >= 999.5 {
      value /= 1000
      unit = next
    }
    guard unit != "B" else { return "\(bytes) B" }
    let (factor, decimals) = value < 9.995 ? (100, 2) : value < 99.95 ? (10, 1) : (1, 0)
    let scaled = Int((value * Double(factor)).rounded())
    guard decimals > 0 else { return "\(scaled) \(unit)" }
    let digits = String(scaled % factor)
    let zeros = String(repeating: "0", count: decimals - digits.count)
    return "\(scaled / factor).\(zeros)\(digits) \(unit)"
  }

  package static func column(_ bytes: UInt64) -> String {
    let text = text(bytes)
    return String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
