/// How fast requests come: whether they are a stream, in which programs wait for one answer after another.
struct RequestRate {
  /// Over how long requests are counted, in nanoseconds.
  static let window: UInt64 = 4_000_000
  /// A stream begins at so many requests in a second: then waking up costs a tenth of the time or more.
  static let fast: UInt64 = 4000
  /// It ends below so many.
  static let slow: UInt64 = 1000

  private(set) var isStream = false
  private var start: UInt64 = 0
  private var counted: UInt64 = 0

  /// Takes in how many requests there were so far, at a time of the monotonic clock.
  ///
  /// - Returns: whether ``isStream`` is now another.
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

  /// Says that no request is to be expected soon.
  ///
  /// - Returns: whether ``isStream`` is now another.
  mutating func pause() -> Bool {
    defer { isStream = false }
    return isStream
  }
}
