import Platform
import TreeNames

/// Times for replies, logs and reports.
package enum TimestampText {
  /// The current time, in nanoseconds since 1970.
  package static func now() -> Int64 { SystemClock.now() }

  /// Formats seconds since 1970: `2026-04-30T18:02:31Z`; `?` outside the years 0 to 9999.
  package static func utc(seconds: Int64) -> String {
    guard let utc = CalendarTime(utc: seconds) else { return "?" }
    return "\(utc.date)T\(utc.time)Z"
  }

  /// Formats an instant, in nanoseconds since 1970: `2026-04-30T18:02:09.120Z`; `?` outside the years 0 to 9999.
  package static func iso(_ instant: Int64) -> String {
    let rest = instant % 1_000_000_000
    let part = rest < 0 ? rest + 1_000_000_000 : rest
    guard let utc = CalendarTime(utc: (instant - part) / 1_000_000_000) else { return "?" }
    return "\(utc.date)T\(utc.time).\(CalendarTime.digits(Int(part / 1_000_000), 3))Z"
  }

  /// Reads the text of ``iso(_:)`` or ``utc(seconds:)`` as seconds since 1970; nil for another text.
  package static func seconds(iso text: String) -> Int64? {
    guard text.utf8.count >= 20, text.hasSuffix("Z") else { return nil }
    let end = TimeExpression(now: 0).instant(text.prefix { $0 != "." && $0 != "Z" } + "Z")
    return end.map { $0 / 1_000_000_000 }
  }

  /// Formats nanoseconds since 1970 as local hour and minute, with the date unless today.
  package static func minute(_ instant: Int64, now: Int64 = now()) -> String {
    guard let local = CalendarTime(local: instant / 1_000_000_000) else { return "?" }
    let today = CalendarTime(local: now / 1_000_000_000)
    return local.date == today?.date ? local.minutes : "\(local.date) \(local.minutes)"
  }

  /// Formats nanoseconds since 1970 as the local time of day, or date and minute unless today.
  package static func short(_ instant: Int64, now: Int64 = now()) -> String {
    guard let local = CalendarTime(local: instant / 1_000_000_000),
      let today = CalendarTime(local: now / 1_000_000_000), local.date == today.date
    else { return minute(instant, now: now) }
    return local.time
  }

  /// Formats seconds since 1970 in local time: `2026-05-01 12:22:31 +0200`; `?` outside the years 0 to 9999.
  package static func local(seconds: Int64) -> String {
    guard let local = CalendarTime(local: seconds) else { return "?" }
    let offset = SystemClock.localOffset(at: seconds)
    let minutes = Int(offset.magnitude / 60)
    return "\(local.date) \(local.time) \(offset < 0 ? "-" : "+")"
      + CalendarTime.digits(minutes / 60) + CalendarTime.digits(minutes % 60)
  }

  /// Formats seconds since 1970 as `3 hours ago`; as local date and time if over a month ago or in the future.
  package static func ago(seconds: Int64, now: Int64 = SystemClock.realtime().seconds) -> String {
    let past = now - seconds
    func some(_ count: Int64, _ unit: String) -> String {
      PrintableText.count(count, unit) + " ago"
    }
    switch past {
    case 0..<5: return "just now"
    case 5..<90: return some(past, "second")
    case 90..<5400: return some(past / 60, "minute")
    case 5400..<129_600: return some(past / 3600, "hour")
    case 129_600..<2_592_000: return some(past / 86_400, "day")
    default:
      guard let local = CalendarTime(local: seconds) else { return "?" }
      return "\(local.date) \(local.minutes)"
    }
  }
}
