internal import Platform
internal import Synchronization

/// Cancels a transfer, limits its speed, and reports its bytes and messages for the user.
/// - Concurrency: callable from any thread; its locks are leaves, and none is held while it calls out.
package final class TransferControl: Sendable {
  /// The longest time between two checks for cancellation, in nanoseconds.
  package static let patience: UInt64 = 100_000_000
  private let isCancelledFlag = Atomic<Bool>(false)
  private let isStopped: @Sendable () -> Bool
  /// Called with sentences for the user about problems that failed nothing.
  let tell: @Sendable (String) -> Void
  private let moved: @Sendable (_ sent: UInt64, _ received: UInt64) -> Void
  /// The time of the last report, on ``SystemClock/monotonic()``.
  private let told = Atomic<UInt64>(0)
  /// The least time between two reports, in nanoseconds.
  private static let interval: UInt64 = 100_000_000
  private let bytesPerSecond: UInt64?
  private let sentBytes = Atomic<UInt64>(0)
  private let receivedBytes = Atomic<UInt64>(0)
  /// The time when the next bytes may be sent, on ``SystemClock/monotonic()``.
  private let pace = Monitor<UInt64>(0)

  /// `bytesPerSecond` limits both directions together. Ten times a second, from any thread, `isStopped` is called
  /// at least, and `moved` at most, with the bytes so far.
  package init(
    bytesPerSecond: UInt64? = nil, isStopped: @escaping @Sendable () -> Bool = { false },
    moved: @escaping @Sendable (_ sent: UInt64, _ received: UInt64) -> Void = { _, _ in },
    say: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
    self.isStopped = isStopped
    self.moved = moved
    tell = say
  }

  /// Ends all transfers with ``RemoteError/cancelled`` within a second.
  package func cancel() {
    isCancelledFlag.store(true, ordering: .relaxed)
    pace.broadcast()
  }

  package var isCancelled: Bool {
    if isCancelledFlag.load(ordering: .relaxed) { return true }
    guard isStopped() else { return false }
    isCancelledFlag.store(true, ordering: .relaxed)
    return true
  }

  package func check() throws(RemoteError) {
    if isCancelled { throw .cancelled }
  }

  /// Waits, or throws ``RemoteError/cancelled``.
  package func pause(nanoseconds: UInt64) throws(RemoteError) {
    let end = SystemClock.monotonic() + nanoseconds
    while true {
      try check()
      let now = SystemClock.monotonic()
      guard now < end else { return }
      _ = pace.wait(nanoseconds: min(end - now, Self.patience)) { _ in
        isCancelledFlag.load(ordering: .relaxed) ? true : nil
      }
    }
  }

  /// Bytes sent to the remote, with those of failed attempts.
  package var sent: UInt64 { sentBytes.load(ordering: .relaxed) }
  /// Bytes received from the remote, with those of failed attempts.
  package var received: UInt64 { receivedBytes.load(ordering: .relaxed) }

  /// Limits the bytes of one call, so that a speed limit gives a steady rate.
  func piece(_ most: Int) -> Int {
    guard let bytesPerSecond else { return most }
    return max(1, min(most, Int(clamping: bytesPerSecond / 8)))
  }

  /// Counts bytes on their way to the remote, and waits for the limit.
  func send(_ count: Int) throws(RemoteError) {
    sentBytes.add(UInt64(count), ordering: .relaxed)
    report()
    try takeTurn(UInt64(count))
  }

  /// Counts received bytes, and waits for the limit.
  func receive(_ count: Int) throws(RemoteError) {
    receivedBytes.add(UInt64(count), ordering: .relaxed)
    report()
    try takeTurn(UInt64(count))
  }

  private func report() {
    let now = SystemClock.monotonic()
    let last = told.load(ordering: .relaxed)
    guard now >= last &+ Self.interval,
      told.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
    else { return }
    moved(sent, received)
  }

  private func takeTurn(_ count: UInt64) throws(RemoteError) {
    try check()
    guard let bytesPerSecond else { return }
    let takes = count.multipliedFullWidth(by: 1_000_000_000)
    let needed = takes.high < bytesPerSecond ? bytesPerSecond.dividingFullWidth(takes).quotient : 0
    let now = SystemClock.monotonic()
    let begins = pace.withLock { free -> UInt64 in
      let begins = max(now, free)
      free = begins &+ needed
      return begins
    }
    // Each call waits for those before it, so after the first bytes the rate is the limit's.
    try pause(nanoseconds: begins - now)
  }
}
