/// Detects a stream: programs that wait for one answer after another.
struct RequestRate {
  /// In nanoseconds.
  static let window: UInt64 = 4_000_000
  /// A stream begins at this many requests a second: waking up then costs a tenth of the time.
  static let fast: UInt64 = 4000
  /// A stream ends below this many requests a second.
  static let slow: UInt64 = 1000
  private(set) var isStream = false
  private var start: UInt64 = 0
  private var counted: UInt64 = 0

  /// Updates the rate with the number of requests so far; true if ``isStream`` has changed.
  mutating func note(_ taken: UInt64, at now: UInt64) -> Bool {
    let elapsed = now &- start
    guard elapsed >= Self.window else { return false }
    let rate = Double(taken &- counted) * 1e9 / Double(elapsed)
    start = now
    counted = taken
    let before = isStream
    isStream = rate >= Double(isStream ? Self.slow : Self.fast)
    return isStream != before
  }

  /// Resets the rate; true if ``isStream`` has changed.
  mutating func pause() -> Bool {
    defer { isStream = false }
    return isStream
  }
}
