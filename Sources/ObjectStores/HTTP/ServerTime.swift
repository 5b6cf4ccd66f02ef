internal import Platform

/// Times of servers, in seconds since 1970.
enum ServerTime {
  /// The form of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
  static func http(_ text: String) -> Int64? {
    let words = text.split(whereSeparator: { $0 == " " || $0 == ":" })
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    guard words.count == 8, let month = months.firstIndex(of: String(words[2])) else { return nil }
    let numbers = [words[1], words[3], words[4], words[5], words[6]].map { number($0) }
    guard let day = numbers[0], let year = numbers[1], let hour = numbers[2],
      let minute = numbers[3], let second = numbers[4], words[7] == "GMT" || words[7] == "UTC"
    else { return nil }
    return seconds(year, Int64(month) + 1, day, hour, minute, second)
  }

  /// The form of S3 and rclone: `1994-11-06T08:49:37.000Z` (ISO 8601), with a zone or without.
  static func iso(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 19, bytes[4] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T") else {
      return nil
    }
    func number(_ range: Range<Int>) -> Int64? {
      Self.number(String(decoding: bytes[range], as: UTF8.self))
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      let local = seconds(year, month, day, hour, minute, second)
    else { return nil }
    let zone = bytes[19...].drop { $0 == UInt8(ascii: ".") || digit($0) }
    guard let sign = zone.first, sign != UInt8(ascii: "Z") else { return local }
    let digits = zone.dropFirst().filter(digit)
    guard digits.count >= 4, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
      let hours = Self.number(String(decoding: digits.prefix(2), as: UTF8.self)),
      let minutes = Self.number(String(decoding: digits.dropFirst(2).prefix(2), as: UTF8.self))
    else { return nil }
    let offset = (hours * 60 + minutes) * 60
    return sign == UInt8(ascii: "+") ? local - offset : local + offset
  }

  /// A time in the form of S3 signatures: `19941106T084937Z`.
  static func basic(_ seconds: Int64) -> String {
    guard let time = CalendarTime(utc: seconds) else { return "19700101T000000Z" }
    let text = "\(time.date)T\(time.time)Z"
    return text.filter { $0 != "-" && $0 != ":" }
  }

  /// The wait of a `Retry-After` in nanoseconds, from seconds or a time (RFC 9110 10.2.3).
  static func retryAfter(_ text: String, now: Int64) -> UInt64? {
    let seconds: Int64
    if let number = number(text) {
      seconds = number
    } else if let time = http(text) {
      seconds = max(0, time - now)
    } else {
      return nil
    }
    return UInt64(min(seconds, 1 << 32)) * 1_000_000_000
  }

  private static func digit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  private static func number(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.count <= 10, text.utf8.allSatisfy(digit) else { return nil }
    return Int64(text)
  }

  /// From the fields of a date (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
  private static func seconds(
    _ year: Int64, _ month: Int64, _ day: Int64, _ hour: Int64, _ minute: Int64, _ second: Int64
  ) -> Int64? {
    guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61,
      (1...9999).contains(year)
    else { return nil }
    let y = month <= 2 ? year - 1 : year
    let era = y / 400
    let yearOfEra = y - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + dayOfEra - 719_468
    return ((days * 24 + hour) * 60 + minute) * 60 + second
  }
}
