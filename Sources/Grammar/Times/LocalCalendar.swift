internal import Platform

/// A time zone: the offset of local clocks from UTC at any time.
package struct LocalCalendar: Sendable {
  /// Seconds that local clocks are ahead of UTC at a time in seconds since 1970.
  package let offset: @Sendable (Int64) -> Int64

  /// Creates a time zone from its offset in seconds at a time in seconds since 1970.
  package init(offset: @escaping @Sendable (Int64) -> Int64) {
    self.offset = offset
  }

  /// The zone of this process.
  package static let system = LocalCalendar { SystemClock.localOffset(at: $0) }

  /// UTC.
  package static let utc = LocalCalendar { _ in 0 }

  /// Converts a local time to seconds since 1970; `local` is the local time, counted as if it were
  /// UTC.
  ///
  /// A time that clocks show twice means the later instant, so that the whole hour lies before it.
  /// A time that clocks skip is moved later by as much as they skip.
  package func utc(local: Int64) -> Int64 {
    // The offsets of zones differ by less than 26 hours, and a zone changes its offset at most once
    // in such a time.
    let before = local - offset(local - 93_600)
    let after = local - offset(local + 93_600)
    let later = max(before, after)
    let earlier = min(before, after)
    if later + offset(later) == local { return later }
    if earlier + offset(earlier) == local { return earlier }
    return later
  }
}

/// Dates of the Gregorian calendar as days since 1970-01-01.
package enum CivilDate {
  /// The days of a date; nil where there is no such date.
  static func days(year: Int64, month: Int, day: Int) -> Int64? {
    guard (1...12).contains(month), day >= 1 else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard day <= lengths[month - 1] else { return nil }
    // Years begin in March, so that a leap day is the last day of a year.
    let years = month > 2 ? year : year - 1
    let era = (years >= 0 ? years : years - 399) / 400
    let ofEra = years - era * 400
    let months = Int64((month + 9) % 12)
    let ofYear = (153 * months + 2) / 5 + Int64(day) - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }

  /// The date of a number of days since 1970-01-01.
  package static func date(days: Int64) -> (year: Int64, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let ofEra = shifted - era * 146_097
    let years = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * years + years / 4 - years / 100)
    let months = (5 * ofYear + 2) / 153
    let day = Int(ofYear - (153 * months + 2) / 5) + 1
    let month = Int(months < 10 ? months + 3 : months - 9)
    return (years + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}
