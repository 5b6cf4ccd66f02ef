import Foundation
import Grammar
import Testing

@Suite("Names below at/")
struct TimeExpressionTests {
  /// Central Europe in 2026: summer time from March 29 to October 25, at 01:00 UTC.
  private static let berlin = LocalCalendar { seconds in
    (1_774_746_000..<1_792_890_000).contains(seconds) ? 7200 : 3600
  }

  private func utc(_ text: String) -> Int64 {
    let formatter = ISO8601DateFormatter()
    return Int64(formatter.date(from: text)?.timeIntervalSince1970 ?? -1) * 1_000_000_000
  }

  private static let last: Int64 = 999_999_999

  @Test(
    "the instant meant",
    arguments: [
      ("2026-05-01", "2026-05-01T21:59:59Z"), ("2026-05-01T10:22", "2026-05-01T08:22:59Z"),
      ("2026-05-01T10:22:33", "2026-05-01T08:22:33Z"),
      ("2026-05-01 10:22:33", "2026-05-01T08:22:33Z"),
      ("2026-05-01T10:22Z", "2026-05-01T10:22:59Z"),
      ("2026-05-01T10:22:33Z", "2026-05-01T10:22:33Z"),
      ("2026-05-01T10:22:33+05:30", "2026-05-01T04:52:33Z"),
      ("today", "2026-06-15T21:59:59Z"), ("yesterday", "2026-06-14T21:59:59Z"),
      ("2026-03-29", "2026-03-29T21:59:59Z"), ("2026-03-28", "2026-03-28T22:59:59Z"),
      ("2026-10-25", "2026-10-25T22:59:59Z"), ("2026-10-25T02:30:00", "2026-10-25T01:30:00Z"),
      ("2026-03-29T02:30:00", "2026-03-29T01:30:00Z"), ("2024-02-29", "2024-02-29T22:59:59Z"),
      ("yesterday 14:00", "2026-06-14T12:00:59Z"), ("tuesday", "2026-06-09T21:59:59Z"),
      ("Monday", "2026-06-08T21:59:59Z"), ("sun", "2026-06-14T21:59:59Z"),
      ("tue 09:30:10", "2026-06-09T07:30:10Z"), ("today.09:00", "2026-06-15T07:00:59Z"),
      ("09:00", "2026-06-15T07:00:59Z"), ("13:00", "2026-06-14T11:00:59Z"),
      ("@1714550000", "2024-05-01T07:53:20Z"), ("1969-12-31", "1969-12-31T22:59:59Z"),
    ])
  func ends(_ text: String, _ expected: String) {
    let now = utc("2026-06-15T10:00:00Z") + 5
    let instant = TimeExpression(now: now, calendar: Self.berlin).instant(text)
    #expect(instant == utc(expected) + Self.last)
  }

  @Test(
    "so long ago",
    arguments: [
      ("now", "2026-03-30T10:00:00Z"), ("-2h", "2026-03-30T08:00:00Z"),
      ("-30m", "2026-03-30T09:30:00Z"), ("-1s", "2026-03-30T09:59:59Z"),
      ("-3d", "2026-03-27T11:00:00Z"), ("-1w", "2026-03-23T11:00:00Z"),
      ("-0d", "2026-03-30T10:00:00Z"), ("2 hours ago", "2026-03-30T08:00:00Z"),
      ("3.days.ago", "2026-03-27T11:00:00Z"), ("1 month ago", "2026-02-28T11:00:00Z"),
      ("13_months_ago", "2025-02-28T11:00:00Z"), ("2 years ago", "2024-03-30T11:00:00Z"),
    ])
  func relative(_ text: String, _ expected: String) {
    let now = utc("2026-03-30T10:00:00Z") + 5
    #expect(
      TimeExpression(now: now, calendar: Self.berlin).instant(text) == utc(expected) + 5)
  }

  @Test(
    "what is no time",
    arguments: [
      "", "x", "2026", "2026-13-01", "2026-02-29", "2026-05-32", "2026-5-1", "2026-05-01T",
      "2026-05-01T24:00", "2026-05-01T10", "2026-05-01T10:60", "2026-05-01T10:22Zx", "-", "-d",
      "-3x", "--3d", "-+3d", "@", "@x", "@-", "2026-05-01Z", "٢٠٢٦-05-01", "@99999999999999999999",
      "tuesdays", "tuesday 25:00", "2 ago", "hours ago", "2 hours", "2 fortnights ago", "ago",
      "yesterday 14:00 x", "now 14:00", "14:00 tuesday", "9:00",
    ])
  func refused(_ text: String) {
    #expect(TimeExpression(now: 0, calendar: .utc).instant(text) == nil)
  }

  @Test("a day, a minute and a second begin where they begin")
  func spans() {
    let time = TimeExpression(now: utc("2026-06-15T10:00:00Z") + 5, calendar: Self.berlin)
    for (text, begin) in [
      ("2026-03-29", "2026-03-28T23:00:00Z"), ("yesterday", "2026-06-13T22:00:00Z"),
      ("2026-05-01T10:22", "2026-05-01T08:22:00Z"), ("09:00", "2026-06-15T07:00:00Z"),
    ] {
      #expect(time.span(text)?.lowerBound == utc(begin), "\(text)")
    }
  }

  @Test("far times end at what an instant can be")
  func far() {
    let time = TimeExpression(now: 0, calendar: .utc)
    #expect(time.instant("9999-12-31") == .max)
    #expect(time.instant("0001-01-01") == .min)
    #expect(time.instant("@9223372036854775807") == .max)
    #expect(time.instant("-4000000000h") == .min)
  }

  @Test("the name of a day is read as that day")
  func days() {
    let time = TimeExpression(now: 0, calendar: Self.berlin)
    for hour in stride(from: Int64(-200_000), to: 600_000, by: 7) {
      let instant = hour * 3_600_000_000_000
      let name = time.day(of: instant)
      guard let end = time.instant(name) else {
        Issue.record("\(name) is no time")
        continue
      }
      #expect(end >= instant && end - instant < 25 * 3_600_000_000_000 && time.day(of: end) == name)
    }
  }

  @Test("this machine's zone is asked")
  func system() {
    let now = Int64(Date().timeIntervalSince1970)
    #expect(LocalCalendar.system.offset(now) == Int64(TimeZone.current.secondsFromGMT()))
  }
}
