internal import Platform

/// Names of versions: `2026-05-01T102231.482Z-3F9C2A1B`.
///
/// Names sort in the order of history: the time in a name is later than in the names of its predecessors, even if
/// their timestamps are equal or their names have whole seconds.
package enum VersionName {
  /// Seconds from 1970 to 2001.
  static let referenceEpoch: Int64 = 978_307_200
  static let shortest = 8

  /// A timestamp in milliseconds since 1970; times that no name can have are cut.
  package static func milliseconds(_ timestamp: Double) -> Int64 {
    let bounded = timestamp.isNaN ? 0 : min(max(timestamp, -6.3e10), 2.5e11)
    // Rounded, because the double nearest to 0.482 s is a little less than 482 ms.
    let microseconds = Int64((bounded * 1_000_000).rounded())
    let rest = microseconds % 1000
    return (microseconds - (rest < 0 ? rest + 1000 : rest)) / 1000 + referenceEpoch * 1000
  }

  package static func text(_ milliseconds: Int64) -> String {
    let part = milliseconds % 1000
    let rest = part < 0 ? part + 1000 : part
    guard let utc = CalendarTime(utc: (milliseconds - rest) / 1000) else {
      return "0000-01-01T000000.000Z"
    }
    let time = utc.time.filter { $0 != ":" }
    return "\(utc.date)T\(time).\(CalendarTime.digits(Int(rest), 3))Z"
  }

  /// The last millisecond that a name can mean, as some have whole seconds; nil if it is no name.
  static func milliseconds(in name: String) -> Int64? {
    let bytes = Array(name.utf8.prefix(22))
    func number(_ range: Range<Int>) -> Int64? {
      guard range.upperBound <= bytes.count else { return nil }
      return Int64(String(decoding: bytes[range], as: UTF8.self))
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(13..<15), let second = number(15..<17),
      bytes.count > 17, let days = CalendarTime.days(year: year, month: month, day: day)
    else { return nil }
    var part: Int64 = 999
    if bytes[17] == UInt8(ascii: ".") {
      guard let given = number(18..<21) else { return nil }
      part = given
    }
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + part
  }

  /// Returns an id in the form for names: bytes other than `A-Za-z0-9_-` become `%XX`.
  package static func escaped(_ id: Version.ID) -> [UInt8] {
    id.rawValue.utf8.reduce(into: []) { PercentCode.append($1, "_-", to: &$0) }
  }

  /// The names to try, shortest first; the last contains the version's number.
  static func candidates(
    timestamp: Double, after predecessors: [String], id: Version.ID, number: VersionNumber
  ) -> some Sequence<String> {
    let last = predecessors.compactMap { milliseconds(in: $0) }.max()
    let time = text(max(milliseconds(timestamp), last.map { $0 + 1 } ?? .min))
    let id = escaped(id)
    // A component of a path has at most 255 bytes; the number replaces a longer id.
    let longest = min(id.count, 200)
    // Lazy, because the first name is usually free.
    return (min(shortest, longest)...longest + 1).lazy.map { length in
      let start = "\(time)-\(String(decoding: id[..<min(length, longest)], as: UTF8.self))"
      return length <= longest ? start : "\(start)~\(number.rawValue)"
    }
  }
}
