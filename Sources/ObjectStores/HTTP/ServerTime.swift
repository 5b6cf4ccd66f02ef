internal import Platform

/// Times of servers, in seconds since 1970.
enum ServerTime {
  /// The form of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
  static func http(_ text: String) -> Int64? {
    CalendarTime.seconds(text.replacing("UTC", with: "GMT"), "%a, %d %b %Y %H:%M:%S GMT")
  }

  /// The form of S3 and rclone: `1994-11-06T08:49:37.000Z` (ISO 8601), with a zone or without.
  static func iso(_ text: String) -> Int64? {
    // Fractions of a second are ignored.
    let zone = text.dropFirst(19).drop { $0 == "." || $0.isNumber }
    return CalendarTime.seconds(
      "\(text.prefix(19))\(zone.isEmpty ? "Z" : zone)", "%Y-%m-%dT%H:%M:%S%z")
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
    if text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int64(text) {
      seconds = number
    } else if let time = http(text) {
      seconds = max(0, time - now)
    } else {
      return nil
    }
    return UInt64(min(seconds, 1 << 32)) * 1_000_000_000
  }
}
