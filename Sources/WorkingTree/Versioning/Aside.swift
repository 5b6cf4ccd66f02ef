import Platform

/// Work that a thread of its own does meanwhile.
///
/// - Concurrency: ``wait()`` from any thread.
final class Aside<Value: Sendable>: Sendable {
  private let outcome = Monitor<Value?>(nil)

  /// Begins; where there can be no other thread, or `aside` is false, it is done when this returns.
  init(_ aside: Bool = true, _ name: String, _ body: @escaping @Sendable () -> Value) {
    let outcome = outcome
    let work: @Sendable () -> Void = {
      let value = body()
      outcome.withLock { $0 = value }
      outcome.broadcast()
    }
    guard aside else {
      work()
      return
    }
    do throws(SystemError) {
      try SystemThread.detach(name: name, work)
    } catch {
      work()
    }
  }

  /// What came of it, once it is done.
  func wait() -> Value {
    guard let value = outcome.wait(until: { $0 }) else {
      preconditionFailure("a wait without a time limit ends with a result")
    }
    return value
  }
}
