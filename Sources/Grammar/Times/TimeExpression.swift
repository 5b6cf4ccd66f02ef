import Platform

/// Parses a point in time, as users name it below `at/`.
/// An inexact name means the end of its span: `today` is the newest version, `yesterday` that day's end.
/// - `2026-05-01`, `2026-05-01T10:22`, `2026-05-01T10:22:33`: local time, or in the zone of a `Z` or `+02:00`.
/// - `now`, `today`, `yesterday`.
/// - `-30m`, `-2h`, `-45s`: exactly that long ago. `-3d`, `-2w`: the same time of day that number of days ago.
/// - `@1714550000`: seconds since 1970.
package struct TimeExpression: Sendable {
  package typealias Instant = Int64
  private let now: Instant
  private let calendar: LocalCalendar

  package init(now: Instant, calendar: LocalCalendar = .system) {
    self.now = now
    self.calendar = calendar
  }

  /// The instant that a text means; nil if the text is no time.
  package func instant(_ text: String) -> Instant? {
    switch text {
    case "now": return now
    case "today": return endOfDay(daysAgo: 0)
    case "yesterday": return endOfDay(daysAgo: 1)
    default: break
    }
    guard text.utf8.allSatisfy({ $0 < 0x80 }), text.utf8.count <= 40 else { return nil }
    if text.hasPrefix("@") {
      let digits = text.dropFirst()
      guard digits.allSatisfy(\.isNumber), let seconds = Int64(digits) else { return nil }
      return TimeExpression.end(ofSecond: seconds)
    }
    if text.hasPrefix("-") { return relative(text.dropFirst()) }
    return absolute(text)
  }

  package func day(of instant: Instant) -> String {
    let seconds = TimeExpression.seconds(instant)
    return CalendarTime(utc: seconds + calendar.offset(seconds))?.date ?? "?"
  }

  private func endOfDay(daysAgo: Int64) -> Instant? {
    let seconds = TimeExpression.seconds(now)
    let today = TimeExpression.floored(seconds + calendar.offset(seconds), 86_400)
    return endOfDay(today - daysAgo)
  }

  private func endOfDay(_ day: Int64) -> Instant? {
    // The next midnight, since days on which clocks change are longer or shorter.
    TimeExpression.end(ofSecond: calendar.utc(local: (day + 1) * 86_400) - 1)
  }

  private func relative(_ text: Substring) -> Instant? {
    guard let unit = text.last, let count = Int64(text.dropLast()), count >= 0,
      text.first != "+", count <= 4_000_000_000
    else { return nil }
    switch unit {
    case "s": return TimeExpression.minus(now, seconds: count)
    case "m": return TimeExpression.minus(now, seconds: count * 60)
    case "h": return TimeExpression.minus(now, seconds: count * 3600)
    case "d", "w":
      let seconds = TimeExpression.seconds(now)
      let days = count * (unit == "w" ? 7 : 1)
      let local = seconds + calendar.offset(seconds) - days * 86_400
      return TimeExpression.minus(now, seconds: seconds - calendar.utc(local: local))
    default: return nil
    }
  }

  private func absolute(_ text: String) -> Instant? {
    var fields = Fields(text.utf8)
    guard let year = fields.number(4), fields.skip("-"), let month = fields.number(2),
      fields.skip("-"), let day = fields.number(2),
      let days = CalendarTime.days(year: year, month: month, day: day)
    else { return nil }
    if fields.isAtEnd { return endOfDay(days) }
    guard fields.skip("T") || fields.skip(" "), let hour = fields.number(2), hour < 24,
      fields.skip(":"), let minute = fields.number(2), minute < 60
    else { return nil }
    var local = days * 86_400 + hour * 3600 + minute * 60
    var last: Int64 = 59
    if fields.skip(":") {
      guard let second = fields.number(2), second < 60 else { return nil }
      local += second
      last = 0
    }
    if fields.isAtEnd { return TimeExpression.end(ofSecond: calendar.utc(local: local) + last) }
    guard let offset = fields.zone(), fields.isAtEnd else { return nil }
    return TimeExpression.end(ofSecond: local - offset + last)
  }

  private static func seconds(_ instant: Instant) -> Int64 { floored(instant, 1_000_000_000) }

  private static func floored(_ value: Int64, _ unit: Int64) -> Int64 {
    let quotient = value / unit
    return value % unit < 0 ? quotient - 1 : quotient
  }

  /// The last instant of a second; the smallest or largest instant if it is out of range.
  private static func end(ofSecond second: Int64) -> Instant {
    let (product, overflows) = second.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflows else { return second < 0 ? .min : .max }
    let (sum, carries) = product.addingReportingOverflow(999_999_999)
    return carries ? .max : sum
  }

  private static func minus(_ instant: Instant, seconds: Int64) -> Instant {
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (difference, borrows) = instant.subtractingReportingOverflow(product)
    return overflows || borrows ? .min : difference
  }
}

/// Digits and separators of a time, taken one at a time.
private struct Fields {
  private var rest: Substring.UTF8View
  init(_ text: String.UTF8View) { rest = text[...] }
  var isAtEnd: Bool { rest.isEmpty }

  mutating func number(_ digits: Int) -> Int64? {
    guard rest.count >= digits else { return nil }
    var value: Int64 = 0
    for byte in rest.prefix(digits) {
      guard (0x30...0x39).contains(byte) else { return nil }
      value = value * 10 + Int64(byte - 0x30)
    }
    rest = rest.dropFirst(digits)
    return value
  }

  mutating func skip(_ mark: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: mark) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// Seconds east of UTC.
  mutating func zone() -> Int64? {
    if skip("Z") { return 0 }
    let sign: Int64 = skip("+") ? 1 : skip("-") ? -1 : 0
    guard sign != 0, let hours = number(2), hours <= 14 else { return nil }
    _ = skip(":")
    guard let minutes = number(2), minutes < 60 else { return nil }
    return sign * (hours * 3600 + minutes * 60)
  }
}
