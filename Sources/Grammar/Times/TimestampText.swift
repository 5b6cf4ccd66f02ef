import Platform

/// Formats times as replies show them.
package enum TimestampText {
  /// The current time, in nanoseconds since 1970.
  package static func now() -> Int64 {
    let now = SystemClock.realtime()
    return now.seconds * 1_000_000_000 + Int64(now.nanoseconds)
  }

  private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

  /// Formats an instant in UTC, to the minute: `2026-04-30T18:02Z`.
  package static func utc(_ instant: Int64) -> String {
    guard let utc = SystemClock.utc(instant / 1_000_000_000) else { return "?" }
    return "\(utc.year)-\(two(utc.month))-\(two(utc.day))T\(two(utc.hour)):\(two(utc.minute))Z"
  }

  /// Formats an instant of today as its local time of day; any other as ``utc(_:)`` does.
  package static func short(_ instant: Int64, now: Int64 = now()) -> String {
    let (seconds, today) = (instant / 1_000_000_000, now / 1_000_000_000)
    guard let local = SystemClock.utc(seconds + SystemClock.localOffset(at: seconds)),
      let current = SystemClock.utc(today + SystemClock.localOffset(at: today)),
      (local.year, local.month, local.day) == (current.year, current.month, current.day)
    else { return utc(instant) }
    return "\(two(local.hour)):\(two(local.minute)):\(two(local.second))"
  }
}
