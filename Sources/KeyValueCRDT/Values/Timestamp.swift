import Foundation
import Platform

/// Dates in the form of the file: UTC, `YYYY-MM-DD HH:MM:SS.mmm`.
///
/// GRDB's other forms are read: without time, with `T`, without seconds or with any fraction, with `Z` or
/// `±HH:MM`. Days before 15 October 1582 are those of the Julian calendar, as in Foundation.
enum Timestamp {
  /// The days from 1970-01-01 to 1582-10-15.
  private static let firstGregorianDay = -141_427

  /// Rounded down to milliseconds; nil outside of the years 0 to 9999.
  static func text(_ date: Date) -> String? {
    // Without the hundredth, the binary fraction of a millisecond would become the one before.
    let exact = date.timeIntervalSince1970 * 1000 + 0.01
    guard exact > -1e15, exact < 1e15 else { return nil }
    let milliseconds = Int64(exact.rounded(.down))
    let (days, inDay) = divided(milliseconds, by: 86_400_000)
    let (year, month, day) = civil(Int(days))
    guard (0...9999).contains(year) else { return nil }
    let second = Int(inDay / 1000)
    func digits(_ value: Int, _ count: Int = 2) -> String { CalendarTime.digits(value, count) }
    return "\(digits(year, 4))-\(digits(month))-\(digits(day)) \(digits(second / 3600)):"
      + "\(digits(second / 60 % 60)):\(digits(second % 60)).\(digits(Int(inDay % 1000), 3))"
  }

  static func date(_ text: UnsafeBufferPointer<UInt8>) -> Date? {
    var reader = Reader(bytes: text)
    guard let year = reader.number(4), reader.take("-"), let month = reader.number(2),
      reader.take("-"), let day = reader.number(2), (1...12).contains(month),
      (1...31).contains(day)
    else { return nil }
    var seconds = days(year, month, day) * 86_400
    var fraction = 0.0
    if reader.take(" ") || reader.take("T") {
      guard let hour = reader.number(2), reader.take(":"), let minute = reader.number(2),
        hour < 24, minute < 60
      else { return nil }
      seconds += hour * 3600 + minute * 60
      if reader.take(":") {
        // A leap second is the first of the next minute.
        guard let second = reader.number(2), second <= 60 else { return nil }
        seconds += second
        if reader.take(".") {
          guard let read = reader.fraction() else { return nil }
          fraction = read
        }
      }
      if let isEast = reader.takeSign() {
        guard let hour = reader.number(2), reader.take(":"), let minute = reader.number(2)
        else { return nil }
        seconds += (isEast ? -1 : 1) * (hour * 3600 + minute * 60)
      } else {
        _ = reader.take("Z")
      }
    }
    guard reader.isAtEnd else { return nil }
    return Date(timeIntervalSince1970: Double(seconds) + fraction)
  }

  private struct Reader {
    let bytes: UnsafeBufferPointer<UInt8>
    var at = 0

    var isAtEnd: Bool { at == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard at < bytes.count, bytes[at] == UInt8(ascii: character) else { return false }
      at += 1
      return true
    }

    mutating func takeSign() -> Bool? { take("+") ? true : take("-") ? false : nil }

    private mutating func digit() -> Int? {
      guard at < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[at] else { return nil }
      at += 1
      return Int(bytes[at - 1] - UInt8(ascii: "0"))
    }

    mutating func number(_ digits: Int) -> Int? {
      var value = 0
      for _ in 0..<digits {
        guard let digit = digit() else { return nil }
        value = value * 10 + digit
      }
      return value
    }

    /// Nanoseconds; further digits are ignored.
    mutating func fraction() -> Double? {
      var value = 0
      var scale = 1
      let start = at
      while let digit = digit() {
        guard scale < 1_000_000_000 else { continue }
        value = value * 10 + digit
        scale *= 10
      }
      return at > start ? Double(value) / Double(scale) : nil
    }
  }

  private static func divided(_ value: Int64, by divisor: Int64) -> (quotient: Int64, rest: Int64) {
    let (quotient, rest) = value.quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }

  /// The year begins in March (Fliegel and van Flandern, "A machine algorithm for processing calendar dates").
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let isGregorian = (year, month, day) >= (1582, 10, 15)
    let year = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let cycle = Int(divided(Int64(year), by: isGregorian ? 400 : 4).quotient)
    if isGregorian {
      let inCycle = year - cycle * 400
      return cycle * 146_097 + inCycle * 365 + inCycle / 4 - inCycle / 100 + dayOfYear - 719_468
    }
    return cycle * 1461 + (year - cycle * 4) * 365 + dayOfYear - 719_470
  }

  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    var year: Int
    let dayOfYear: Int
    if days >= firstGregorianDay {
      let (cycle, rest) = divided(Int64(days + 719_468), by: 146_097)
      let inCycle = Int(rest)
      let yearOfCycle = (inCycle - inCycle / 1460 + inCycle / 36_524 - inCycle / 146_096) / 365
      year = Int(cycle) * 400 + yearOfCycle
      dayOfYear = inCycle - (yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100)
    } else {
      let (cycle, rest) = divided(Int64(days + 719_470), by: 1461)
      let inCycle = Int(rest)
      let yearOfCycle = min(inCycle / 365, 3)
      year = Int(cycle) * 4 + yearOfCycle
      dayOfYear = inCycle - yearOfCycle * 365
    }
    let month = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * month + 2) / 5 + 1
    if month >= 10 { year += 1 }
    return (year, month < 10 ? month + 3 : month - 9, day)
  }
}
