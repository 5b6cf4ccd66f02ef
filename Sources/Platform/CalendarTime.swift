internal import CShims
internal import Glibc

/// A date and a time of day of the Gregorian calendar, in the years 0 to 9999.
package struct CalendarTime: Hashable, Sendable {
  package let year: Int
  /// 1 to 12.
  package let month: Int
  /// 1 to 31.
  package let day: Int
  package let hour: Int
  package let minute: Int
  /// 0 to 60.
  package let second: Int
  private static let years: Range<Int64> = -62_167_219_200..<253_402_300_800

  /// The time in UTC at seconds since 1970; nil outside the years 0 to 9999.
  package init?(utc seconds: Int64) {
    guard Self.years.contains(seconds) else { return nil }
    var time = time_t(seconds)
    var parts = unsafe tm()
    guard unsafe gmtime_r(&time, &parts) != nil else { return nil }
    year = unsafe Int(parts.tm_year) + 1900
    month = unsafe Int(parts.tm_mon) + 1
    day = unsafe Int(parts.tm_mday)
    hour = unsafe Int(parts.tm_hour)
    minute = unsafe Int(parts.tm_min)
    second = unsafe Int(parts.tm_sec)
  }

  package init?(local seconds: Int64) {
    self.init(utc: seconds &+ SystemClock.localOffset(at: seconds))
  }

  /// Returns the days from 1970-01-01 to a date of the calendar.
  package static func days(year: Int64, month: Int64, day: Int64) -> Int64? {
    guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else {
      return nil
    }
    var parts = unsafe tm()
    unsafe parts.tm_year = Int32(year - 1900)
    unsafe parts.tm_mon = Int32(month - 1)
    unsafe parts.tm_mday = Int32(day)
    let seconds = unsafe Int64(timegm(&parts))
    // timegm(3) accepts the 31st of February.
    guard let found = CalendarTime(utc: seconds), found.day == day else { return nil }
    return seconds / 86_400
  }

  /// Reads a whole text by a format of strptime(3) as seconds since 1970.
  package static func seconds(_ text: String, _ format: String) -> Int64? {
    var seconds: Int64 = 0
    return unsafe llvs_parse_time(text, format, &seconds) == 0 ? nil : seconds
  }

  /// `2026-05-01`.
  package var date: String { "\(Self.digits(year, 4))-\(Self.digits(month))-\(Self.digits(day))" }

  /// `1 May 2026`.
  package var spelled: String { "\(day) \(Self.months[month - 1]) \(year)" }

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
  ]

  /// `10:22`.
  package var minutes: String { "\(Self.digits(hour)):\(Self.digits(minute))" }

  /// `10:22:31`.
  package var time: String { "\(minutes):\(Self.digits(second))" }

  /// A number with at least `count` digits.
  package static func digits(_ value: Int, _ count: Int = 2) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }
}
