import Testing

@testable import ObjectStores

struct ServerTimeTests {
  @Test("times of servers are read, and what is none is not")
  func reading() {
    #expect(ServerTime.http("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(ServerTime.http("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
    #expect(ServerTime.http("Thu, 29 Feb 2024 23:59:59 GMT") == 1_709_251_199)
    #expect(ServerTime.iso("1994-11-06T08:49:37.000Z") == 784_111_777)
    #expect(ServerTime.iso("1994-11-06T09:49:37.123456789+01:00") == 784_111_777)
    #expect(ServerTime.iso("1994-11-06T03:19:37-05:30") == 784_111_777)
    #expect(ServerTime.basic(784_111_777) == "19941106T084937Z")
    for text in [
      "", "yesterday", "Sun, 06 Nov 1994", "Sun, 06 Xxx 1994 08:49:37 GMT",
      "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "1994-13-06T08:49:37Z",
      "1994-11-06 08:49:37", "99999999999999-11-06T08:49:37Z",
    ] {
      #expect(ServerTime.http(text) == nil, "\(text)")
      #expect(ServerTime.iso(text) == nil, "\(text)")
    }
  }

  @Test("a Retry-After is seconds or a time")
  func retryAfter() {
    #expect(ServerTime.retryAfter("7", now: 0) == 7_000_000_000)
    #expect(ServerTime.retryAfter("Thu, 01 Jan 1970 00:00:09 GMT", now: 4) == 5_000_000_000)
    #expect(ServerTime.retryAfter("Thu, 01 Jan 1970 00:00:09 GMT", now: 40) == 0)
    #expect(ServerTime.retryAfter("soon", now: 0) == nil)
    #expect(ServerTime.retryAfter("-1", now: 0) == nil)
    #expect(ServerTime.retryAfter("9999999999", now: 0) == UInt64(4_294_967_296_000_000_000))
  }

  @Test("what is percent-encoded decodes to the same")
  func percents() {
    for text in ["", "a b", "é\u{301}", "%25", "/a+b/", "\u{1}~-_."] {
      #expect(PercentCoding.decode(PercentCoding.encode(text)) == text)
    }
    #expect(PercentCoding.encode("a/b é", keepingSlashes: true) == "a/b%20%C3%A9")
    #expect(PercentCoding.decode("a+b", plusIsSpace: true) == "a b")
    for text in ["%", "%2", "%zz", "%ff"] { #expect(PercentCoding.decode(text) == nil, "\(text)") }
  }
}
