internal import Glibc

extension SystemClock {
  /// Returns the difference of local time from UTC, in seconds, at a number of seconds since 1970.
  package static func localOffset(at seconds: Int64) -> Int64 {
    // tzset(3): the zone's file may have been replaced since the last call.
    tzset()
    var time = time_t(seconds)
    var parts = unsafe tm()
    guard unsafe localtime_r(&time, &parts) != nil else { return 0 }
    return unsafe Int64(parts.tm_gmtoff)
  }
}
