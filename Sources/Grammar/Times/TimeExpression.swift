import Platform

/// Parses a point in time, as users name it below `at/`.
/// An inexact name means the end of its span: `today` is the newest version, `yesterday` that day's end.
/// - `2026-05-01`, `2026-05-01T10:22`, `2026-05-01T10:22:33`: local time, or in the zone of a `Z` or `+02:00`.
/// - `today`, `yesterday`, `tuesday` (the last one before today), and these with a time: `tuesday 14:00`.
/// - `14:00`, `14:00:05`: today, or yesterday if that is later than now.
/// - `now`; `-30m`, `-2h`, `-45s`: exactly that long ago. `-3d`, `-2w`: the same time of day that number of days ago.
/// - `2 hours ago`: seconds, minutes, hours, days, weeks, months and years.
/// - `@1714550000`: seconds since 1970.
///
/// A dot or an underscore between words is a blank: `2.hours.ago`.
package struct TimeExpression: Sendable {
  package typealias Instant = Int64
  private let now: Instant
  private let calendar: LocalCalendar

  package init(now: Instant, calendar: LocalCalendar = .system) {
    self.now = now
    self.calendar = calendar
  }

  /// The instant that a text means: the last one of its span; nil if the text is no time.
  package func instant(_ text: String) -> Instant? { span(text)?.upperBound }

  /// The instants that a text names: a day, a minute, a second or one instant; nil if the text is no time.
  package func span(_ text: String) -> ClosedRange<Instant>? {
    guard text.utf8.allSatisfy({ $0 < 0x80 }), text.utf8.count <= 40 else { return nil }
    if text.hasPrefix("@") {
      let digits = text.dropFirst()
      guard digits.allSatisfy(\.isNumber), let seconds = Int64(digits) else { return nil }
      return span(seconds...seconds)
    }
    if text.hasPrefix("-"), let unit = text.last {
      return ago(text.dropFirst().dropLast(), String(unit))
    }
    return absolute(text) ?? spoken(text.lowercased().split { " ._".contains($0) })
  }

  package static func refusal(_ text: String) -> String {
    "\"\(text)\" is not a time; a time is written like yesterday, \"tuesday 14:00\", \"2 hours ago\", -2h, "
      + "2026-05-01 or 2026-05-01T10:22"
  }

  package func day(of instant: Instant) -> String {
    CalendarTime(utc: local(TimeExpression.seconds(instant)))?.date ?? "?"
  }

  private func local(_ seconds: Int64) -> Int64 { seconds + calendar.offset(seconds) }

  private var today: Int64 {
    TimeExpression.floored(local(TimeExpression.seconds(now)), 86_400)
  }

  private func span(_ seconds: ClosedRange<Int64>) -> ClosedRange<Instant> {
    let first = TimeExpression.end(ofSecond: seconds.lowerBound)
    let begins = first == .min || first == .max ? first : first - 999_999_999
    return begins...TimeExpression.end(ofSecond: seconds.upperBound)
  }

  private func span(ofDay day: Int64) -> ClosedRange<Instant> {
    // The next midnight, since days on which clocks change are longer or shorter.
    span(calendar.utc(local: day * 86_400)...calendar.utc(local: (day + 1) * 86_400) - 1)
  }

  private func span(_ time: ClosedRange<Int64>, ofDay day: Int64) -> ClosedRange<Instant> {
    let first = calendar.utc(local: day * 86_400 + time.lowerBound)
    return span(first...first + (time.upperBound - time.lowerBound))
  }

  private func spoken(_ words: [Substring]) -> ClosedRange<Instant>? {
    guard let first = words.first, words.count <= 3 else { return nil }
    if words.count == 3 { return words[2] == "ago" ? ago(first, String(words[1])) : nil }
    if words.count == 1, first == "now" { return now...now }
    if words.count == 1, let time = Fields.clock(first) {
      let span = span(time, ofDay: today)
      return span.lowerBound > now ? self.span(time, ofDay: today - 1) : span
    }
    guard let day = day(named: first) else { return nil }
    if words.count == 1 { return span(ofDay: day) }
    return Fields.clock(words[1]).map { span($0, ofDay: day) }
  }

  private func day(named name: Substring) -> Int64? {
    switch name {
    case "today": return today
    case "yesterday": return today - 1
    default:
      // The first day of 1970 was a Thursday.
      let names = [
        "thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday",
      ]
      guard let index = names.firstIndex(where: { $0 == name || $0.prefix(3) == name }) else {
        return nil
      }
      let today = today
      let back = (today - Int64(index)) % 7
      return today - (back <= 0 ? back + 7 : back)
    }
  }

  /// Returns the instant a number of units ago; days and longer units keep the time of day.
  private func ago(_ count: Substring, _ unit: String) -> ClosedRange<Instant>? {
    guard count.first != "+", let count = Int64(count), (0...4_000_000_000).contains(count)
    else { return nil }
    let instant: Instant?
    switch unit {
    case "s", "second", "seconds": instant = TimeExpression.minus(now, seconds: count)
    case "m", "minute", "minutes": instant = TimeExpression.minus(now, seconds: count * 60)
    case "h", "hour", "hours": instant = TimeExpression.minus(now, seconds: count * 3600)
    case "d", "day", "days": instant = days(ago: count)
    case "w", "week", "weeks": instant = days(ago: count * 7)
    case "month", "months": instant = months(ago: count)
    case "year", "years": instant = months(ago: count * 12)
    default: instant = nil
    }
    return instant.map { $0...$0 }
  }

  private func days(ago days: Int64) -> Instant {
    let seconds = TimeExpression.seconds(now)
    return TimeExpression.minus(
      now, seconds: seconds - calendar.utc(local: local(seconds) - days * 86_400))
  }

  /// Returns the same day of an earlier month, or that month's last day.
  private func months(ago months: Int64) -> Instant? {
    let today = today
    guard let date = CalendarTime(utc: today * 86_400) else { return nil }
    let month = Int64(date.year * 12 + date.month - 1) - months
    let year = TimeExpression.floored(month, 12)
    let found = stride(from: Int64(date.day), through: 1, by: -1).prefix(4).lazy.compactMap {
      CalendarTime.days(year: year, month: month - year * 12 + 1, day: $0)
    }.first
    return found.map { days(ago: today - $0) }
  }

  private func absolute(_ text: String) -> ClosedRange<Instant>? {
    var fields = Fields(text.utf8)
    guard let year = fields.number(4), fields.skip("-"), let month = fields.number(2),
      fields.skip("-"), let day = fields.number(2),
      let days = CalendarTime.days(year: year, month: month, day: day)
    else { return nil }
    if fields.isAtEnd { return span(ofDay: days) }
    guard fields.skip("T") || fields.skip(" "), let time = fields.clock() else { return nil }
    if fields.isAtEnd { return span(time, ofDay: days) }
    guard let offset = fields.zone(), fields.isAtEnd else { return nil }
    let begin = days * 86_400 - offset
    return span(begin + time.lowerBound...begin + time.upperBound)
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
  init(_ text: Substring.UTF8View) { rest = text }
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

  /// A time of day, as seconds since midnight: a minute or a second.
  mutating func clock() -> ClosedRange<Int64>? {
    guard let hour = number(2), hour < 24, skip(":"), let minute = number(2), minute < 60 else {
      return nil
    }
    let begin = hour * 3600 + minute * 60
    guard skip(":") else { return begin...begin + 59 }
    guard let second = number(2), second < 60 else { return nil }
    return begin + second...begin + second
  }

  /// Returns the time of day that a word is; nil for another word.
  static func clock(_ word: Substring) -> ClosedRange<Int64>? {
    var fields = Fields(word.utf8)
    let time = fields.clock()
    return fields.isAtEnd ? time : nil
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
