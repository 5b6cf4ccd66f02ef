import CShims

/// Polls for the next request for a short time before its thread waits in the kernel.
///
/// Polling pays only while the calling program runs on another processor and no thread wants this one. After
/// polling in vain, the next requests are not polled for: twice as many as the last time.
struct AdaptiveSpin {
  /// The longest time to poll, in nanoseconds.
  static let patience: UInt64 = 50_000
  /// A longer time between two polls means that another thread used the processor, in nanoseconds.
  static let interruption: UInt64 = 20_000
  /// The most requests without polling before the next attempt.
  static let mostSkipped: UInt32 = 255
  /// The pause instructions between two polls, which are system calls.
  private static let rest: Int32 = 20
  private var skipped: UInt32 = 0
  private var toSkip: UInt32 = 0

  /// Polls until a request is pending or further polling does not pay; `clock` is monotonic, in nanoseconds.
  mutating func wait(clock: () -> UInt64, isPending: () -> Bool) {
    guard toSkip == 0 else {
      toSkip -= 1
      return
    }
    // An already pending request does not show that polling pays.
    if isPending() { return }
    let start = clock()
    var last = start
    while last &- start < Self.patience {
      llvs_rest(Self.rest)
      if isPending() {
        skipped = 0
        return
      }
      let now = clock()
      if now &- last > Self.interruption { break }
      last = now
    }
    skipped = min(skipped * 2 + 1, Self.mostSkipped)
    toSkip = skipped
  }
}
