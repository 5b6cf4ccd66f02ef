import Platform
import Synchronization

/// The processes of threads that are not their first thread, for a few seconds each: the kernel names threads.
/// - Concurrency: any thread; a leaf lock, not held while /proc is read.
final class ThreadGroups: Sendable {
  private struct Known {
    var process: Int32
    var until: UInt64
  }

  private static let limit = 1024
  /// Shorter than the time until a thread's number is reused.
  private static let lifetime: UInt64 = 5_000_000_000
  private let known = Mutex<[Int32: Known]>([:])

  /// The process of the thread of a request; 0 if unknown.
  func process(of thread: Int32) -> Int32 {
    guard thread > 0 else { return 0 }
    if SystemProcess.isFirstThread(thread) { return thread }
    let now = SystemClock.monotonic()
    if let found = known.withLock({ $0[thread] }), found.until > now { return found.process }
    guard let process = SystemProcess.group(ofThread: thread) else { return 0 }
    known.withLock { table in
      if table.count >= Self.limit { table = [:] }
      table[thread] = Known(process: process, until: now + Self.lifetime)
    }
    return process
  }
}
