internal import CShims
private import Synchronization

/// Threads that do one part of a task while the calling thread does the rest.
///
/// A thread ends after a second without work. If all are busy, the caller does the whole task.
/// - Concurrency: any thread. The parts of a task must be able to run at once; the caller waits for both.
package final class ForkJoin: Sendable {
  private let pool: WorkerPool
  private let hasCompany = llvs_processor_count() > 1

  /// Shown by /proc: the first 15 bytes of `name`.
  package init(name: String) {
    pool = WorkerPool(
      name: name, limit: max(1, Int(llvs_processor_count()) - 1), patience: 1_000_000_000)
  }

  /// Runs two parts of a task, at the same time where possible; the error of `part` comes before that of `own`.
  package func both<A, B, Failure>(
    _ part: @escaping () throws(Failure) -> A, beside own: () throws(Failure) -> B
  ) throws(Failure) -> (A, B) {
    // One thread uses it until both parts are done.
    nonisolated(unsafe) var a: Result<A, Failure>?
    let job = Job { unsafe a = Result { () throws(Failure) in try part() } }
    if hasCompany { pool.run { _ = job.perform() } }
    let b = Result { () throws(Failure) in try own() }
    // If no thread has begun it, doing the part here is at least as fast.
    if !job.perform() { job.wait() }
    guard let a = unsafe a else { preconditionFailure("a part that was waited for has run") }
    return (try a.get(), try b.get())
  }

  /// Returns the results for 0 to `count`, computed by two threads that take sixteen indices at a time.
  package func map<Value, Failure>(
    _ count: Int, _ body: @escaping (Int) throws(Failure) -> Value
  ) throws(Failure) -> [Value] {
    let next = Counter()
    func work() throws(Failure) -> [(Int, [Value])] {
      var done: [(Int, [Value])] = []
      while true {
        let start = next.value.wrappingAdd(16, ordering: .relaxed).oldValue
        guard start < count else { return done }
        var values: [Value] = []
        values.reserveCapacity(16)
        for index in start..<min(start + 16, count) { values.append(try body(index)) }
        done.append((start, values))
      }
    }
    let (a, b) = try both(work, beside: work)
    return (a + b).sorted { $0.0 < $1.0 }.flatMap(\.1)
  }

  private final class Counter: Sendable { let value = Atomic<Int>(0) }

  private final class Job: Sendable {
    /// Unchecked: one thread runs it, while the thread that it came from waits for the end.
    private struct Work: @unchecked Sendable { let run: () -> Void }

    private enum Progress {
      case offered
      case underWay
      case done
    }

    private let work: Work
    private let progress = Monitor(Progress.offered)

    init(_ run: @escaping () -> Void) { work = Work(run: run) }

    func perform() -> Bool {
      let isMine = progress.withLock { progress in
        guard case .offered = progress else { return false }
        progress = .underWay
        return true
      }
      guard isMine else { return false }
      work.run()
      progress.withLock { $0 = .done }
      progress.broadcast()
      return true
    }

    func wait() {
      progress.wait { progress -> Void? in
        guard case .done = progress else { return nil }
        return ()
      }
    }
  }
}
