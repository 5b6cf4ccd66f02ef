import Platform

/// The clocks that the rules of a remote go by.
package struct BundleClock: Sendable {
  /// Seconds since 1970.
  package var now: @Sendable () -> Int64
  /// Nanoseconds on a clock that goes on while the machine sleeps.
  package var boottime: @Sendable () -> UInt64

  package init(now: @escaping @Sendable () -> Int64, boottime: @escaping @Sendable () -> UInt64) {
    self.now = now
    self.boottime = boottime
  }

  package static let system = BundleClock(
    now: { SystemClock.realtime().seconds }, boottime: { SystemClock.boottime() })
}
