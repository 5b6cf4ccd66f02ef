/// The limits on the use of a remote. Times are in nanoseconds.
package struct RemoteLimits: Hashable, Sendable {
  package var requests = 8
  /// The most attempts of a request whose failure is transient.
  package var attempts = 5
  /// The longest wait before the second attempt; it doubles with each attempt.
  package var firstWait: UInt64 = 500_000_000
  package var longestWait: UInt64 = 30_000_000_000
  /// The longest accepted `Retry-After`.
  package var longestRetryAfter: UInt64 = 120_000_000_000
  /// The same before any request has succeeded.
  package var longestFirstRetryAfter: UInt64 = 10_000_000_000
  package var connect: UInt64 = 10_000_000_000
  /// The longest time without a byte in either direction.
  package var stall: UInt64 = 30_000_000_000
  /// The longest time for 1 KiB in both directions together.
  package var crawl: UInt64 = 60_000_000_000
  package init() {}

  package static var forFewRequests: RemoteLimits {
    var limits = RemoteLimits()
    limits.requests = 4
    return limits
  }
}
