internal import Platform

/// A time zone: the offset of local clocks from UTC at any time.
package struct LocalCalendar: Sendable {
  /// Seconds that local clocks are ahead of UTC at a time in seconds since 1970.
  package let offset: @Sendable (Int64) -> Int64
  package init(offset: @escaping @Sendable (Int64) -> Int64) { self.offset = offset }
  package static let system = LocalCalendar { SystemClock.localOffset(at: $0) }
  package static let utc = LocalCalendar { _ in 0 }

  /// Converts a local time to seconds since 1970; `local` is the local time, counted as if it were UTC.
  /// A time that clocks show twice means the later instant; one that they skip is moved later.
  package func utc(local: Int64) -> Int64 {
    // Zones' offsets differ by less than 26 hours, and a zone changes its offset at most once in this time.
    let before = local - offset(local - 93_600)
    let after = local - offset(local + 93_600)
    let later = max(before, after)
    let earlier = min(before, after)
    if later + offset(later) == local { return later }
    if earlier + offset(earlier) == local { return earlier }
    return later
  }
}
