import CShims

/// Looks out for the next request for a moment before its thread waits for it in the kernel.
///
/// To wake a thread on a sleeping processor takes longer than most answers. It pays only while the
/// program that asks runs on another processor and nobody else wants this one, which shows in the
/// request coming while it is looked out for; each time that it does not, twice as many of the next
/// are waited for at once.
struct AdaptiveSpin {
  /// How long it looks out, in nanoseconds.
  static let patience: UInt64 = 50_000
  /// Between two looks so far apart the processor was somebody else's.
  static let interruption: UInt64 = 20_000
  /// The most requests that are waited for at once before it is tried again.
  static let mostSkipped: UInt32 = 255
  /// Instructions that only pass time between two looks: each look is a system call.
  private static let rest: Int32 = 20

  private var skipped: UInt32 = 0
  private var toSkip: UInt32 = 0

  /// Returns once a request is pending or it does not pay to look out any longer.
  ///
  /// `clock` gives nanoseconds of a clock that only goes forward.
  mutating func wait(clock: () -> UInt64, isPending: () -> Bool) {
    guard toSkip == 0 else {
      toSkip -= 1
      return
    }
    // One that is there already says nothing about waiting.
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
