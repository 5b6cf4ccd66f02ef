/// Durations and sizes as users write them.
package enum Measure {
  private static let durations: [(unit: String, nanoseconds: UInt64)] = [
    ("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000),
    ("h", 3_600_000_000_000), ("d", 86_400_000_000_000), ("w", 604_800_000_000_000),
    ("y", 31_536_000_000_000_000),
  ]
  private static let sizes: [(unit: String, bytes: UInt64)] = [
    ("", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40), ("P", 1 << 50),
  ]

  /// Parses `1.5h`, `2s`, `300ms` to nanoseconds; a number without a unit is seconds; nil for anything else.
  package static func duration(_ text: String) -> UInt64? {
    guard let (number, unit) = parts(text) else { return nil }
    let factor = durations.first { $0.unit == (unit.isEmpty ? "s" : unit) }?.nanoseconds
    return factor.flatMap { scaled(number, by: $0) }
  }

  /// The shortest text that ``duration(_:)`` parses to the same duration.
  package static func text(duration nanoseconds: UInt64) -> String {
    if nanoseconds == 0 { return "0s" }
    let unit = durations.dropLast(2).last { nanoseconds % $0.nanoseconds == 0 } ?? durations[0]
    return "\(nanoseconds / unit.nanoseconds)\(unit.unit)"
  }

  /// Parses `1G`, `512K`, `4096`, `1.5GiB` to bytes, in powers of 1024; nil for anything else.
  package static func size(_ text: String) -> UInt64? {
    guard let (number, unit) = parts(text) else { return nil }
    var name = unit.uppercased()
    if name.hasSuffix("IB") { name.removeLast(2) } else if name.hasSuffix("B") { name.removeLast() }
    return sizes.first { $0.unit == name }.flatMap { scaled(number, by: $0.bytes) }
  }

  /// The shortest text that ``size(_:)`` parses to the same size.
  package static func text(size bytes: UInt64) -> String {
    let unit = sizes.last { bytes >= $0.bytes && bytes % $0.bytes == 0 } ?? sizes[0]
    return "\(bytes / unit.bytes)\(unit.unit)"
  }

  private static func parts(_ text: String) -> (number: Substring, unit: String)? {
    let number = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
    guard !number.isEmpty, number.count <= 24 else { return nil }
    return (number, String(text.dropFirst(number.count)))
  }

  private static func scaled(_ number: Substring, by factor: UInt64) -> UInt64? {
    if let whole = UInt64(number) {
      let (product, overflows) = whole.multipliedReportingOverflow(by: factor)
      return overflows ? nil : product
    }
    guard let value = Double(number), value.isFinite, value >= 0 else { return nil }
    return UInt64(exactly: (value * Double(factor)).rounded())
  }
}
