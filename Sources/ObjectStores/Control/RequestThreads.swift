internal import Platform
internal import Synchronization

package enum RequestThreads {
  private static let pool = WorkerPool(name: "llvs-requests")

  /// Calls a body with 0 to `count` on at most `width` threads. An error stops further calls; the one with the
  /// lowest number is thrown.
  package static func each<Failure: Error>(
    _ count: Int, width: Int, _ body: @escaping (Int) throws(Failure) -> Void
  ) throws(Failure) {
    let next = Atomic<Int>(0)
    let failure = Mutex<(index: Int, error: Failure)?>(nil)
    let running = Monitor(0)
    let work = {
      while true {
        let index = next.add(1, ordering: .relaxed).oldValue
        guard index < count, failure.withLock({ $0 == nil }) else { return }
        do throws(Failure) {
          try body(index)
        } catch {
          failure.withLock { first in
            if index < first?.index ?? Int.max { first = (index, error) }
          }
        }
      }
    }
    // All threads are done with it when this call ends.
    nonisolated(unsafe) let shared = work
    for _ in 1..<max(1, min(width, count)) {
      running.withLock { $0 += 1 }
      pool.run {
        shared()
        running.withLock { $0 -= 1 }
        running.broadcast()
      }
    }
    work()
    _ = running.wait(nanoseconds: nil) { $0 == 0 ? true : nil }
    if let failure = failure.withLock({ $0 }) { throw failure.error }
  }
}
