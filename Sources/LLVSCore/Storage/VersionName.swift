internal import Platform

/// Names of versions: `2026-05-01T102231Z-3f9c2a1b`.
package enum VersionName {
  /// Seconds from 1970 to 2001.
  static let referenceEpoch: Int64 = 978_307_200
  static let shortest = 8

  /// Returns the name's part for the time; times outside the years 0 to 9999 are limited to them.
  package static func time(_ timestamp: Double) -> String {
    let bounded = timestamp.isNaN ? 0 : min(max(timestamp, -6.3e10), 2.5e11)
    let seconds = Int64(bounded.rounded(.down)) + referenceEpoch
    guard let utc = CalendarTime(utc: seconds) else { return "0000-01-01T000000Z" }
    func digits(_ value: Int, _ count: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    return
      "\(digits(utc.year, 4))-\(digits(utc.month, 2))-\(digits(utc.day, 2))T\(digits(utc.hour, 2))\(digits(utc.minute, 2))\(digits(utc.second, 2))Z"
  }

  /// Returns an id in the form for names: other bytes than `A-Za-z0-9_-` become `%XX`.
  package static func escaped(_ id: Version.ID) -> [UInt8] {
    let hex = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in id.rawValue.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        bytes.append(byte)
      default:
        bytes += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
      }
    }
    return bytes
  }

  /// Returns the names to try, shortest first; the last one ends with the version's number.
  static func candidates(
    timestamp: Double, id: Version.ID, number: VersionNumber
  ) -> some Sequence<String> {
    let time = time(timestamp)
    let id = escaped(id)
    // A component of a path has at most 255 bytes; versions with longer ids have their number in
    // the name.
    let longest = min(id.count, 200)
    // Lazy, as the first name is mostly free.
    return (min(shortest, longest)...longest + 1).lazy.map { length in
      let start = "\(time)-\(String(decoding: id[..<min(length, longest)], as: UTF8.self))"
      return length <= longest ? start : "\(start)~\(number.rawValue)"
    }
  }
}
