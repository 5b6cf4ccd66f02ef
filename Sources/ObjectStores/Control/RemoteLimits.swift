/// The numbers that one remote is used by. Times are in nanoseconds.
package struct RemoteLimits: Hashable, Sendable {
  /// Requests under way at a time.
  package var requests = 8
  /// The number of attempts for a request whose failure is transient.
  package var attempts = 5
  /// The longest wait before the second attempt; it doubles with each, and is drawn from 0 up.
  package var firstWait: UInt64 = 500_000_000
  /// The longest that the wait grows to.
  package var longestWait: UInt64 = 30_000_000_000
  /// The longest that a server's own `Retry-After` is waited for.
  package var longestRetryAfter: UInt64 = 120_000_000_000
  /// The longest time for connecting.
  package var connect: UInt64 = 10_000_000_000
  /// The longest time without a byte in either direction.
  package var stall: UInt64 = 30_000_000_000
  /// Bytes a second in both directions together; nil for as many as there is room for.
  package var bytesPerSecond: UInt64?

  /// The usual numbers.
  package init() {}

  /// Limits for servers that take fewer requests at a time.
  package static var forFewRequests: RemoteLimits {
    var limits = RemoteLimits()
    limits.requests = 4
    return limits
  }
}
