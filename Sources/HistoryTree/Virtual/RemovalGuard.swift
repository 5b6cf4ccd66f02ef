import Platform
import Synchronization
import TreeNames

/// Keeps `rm -r .llvs` from removing anything: a process that failed to remove a fixed name is refused.
/// - Concurrency: any thread; its lock is a leaf.
final class RemovalGuard: Sendable {
  /// In nanoseconds.
  static let time: UInt64 = 10_000_000_000
  private static let limit = 256

  /// Processes, and until when they are refused.
  private let barred = Mutex<[Int32: UInt64]>([:])

  func note(_ process: Int32) {
    let now = SystemClock.monotonic()
    barred.withLock { barred in
      if barred.count >= Self.limit { barred = barred.filter { $0.value > now } }
      if barred.count < Self.limit { barred[process] = now + Self.time }
    }
  }

  /// Refuses a removal by a process that just failed at another.
  func check(_ process: Int32) throws(FSError) {
    let now = SystemClock.monotonic()
    if barred.withLock({ ($0[process] ?? 0) > now }) { throw .notPermitted }
  }
}
