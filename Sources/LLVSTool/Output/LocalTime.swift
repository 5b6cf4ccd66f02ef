import Platform

/// Formats times in the local zone.
enum LocalTime {
  private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

  /// For example `2026-05-01 12:22:31 +0200`.
  static func text(_ seconds: Int64) -> String {
    let offset = SystemClock.localOffset(at: seconds)
    guard let local = SystemClock.utc(seconds &+ offset) else { return "?" }
    let minutes = Int(offset.magnitude / 60)
    return "\(local.year)-\(two(local.month))-\(two(local.day)) \(two(local.hour)):"
      + "\(two(local.minute)):\(two(local.second)) "
      + "\(offset < 0 ? "-" : "+")\(two(minutes / 60))\(two(minutes % 60))"
  }

  /// For example `2026-05-01 12:22`.
  static func short(_ seconds: Int64) -> String { String(text(seconds).prefix(16)) }

  /// For example `3 hours ago`; the date for times that are long ago, or in the future.
  static func ago(_ seconds: Int64, now: Int64 = SystemClock.realtime().seconds) -> String {
    let past = now - seconds
    func some(_ count: Int64, _ unit: String) -> String {
      "\(count) \(unit)\(count == 1 ? "" : "s") ago"
    }
    switch past {
    case ..<0: return short(seconds)
    case 0..<5: return "just now"
    case 5..<90: return some(past, "second")
    case 90..<5400: return some(past / 60, "minute")
    case 5400..<129_600: return some(past / 3600, "hour")
    case 129_600..<2_592_000: return some(past / 86_400, "day")
    default: return short(seconds)
    }
  }
}
