/// A thread that sleeps until it is woken or a time passes, works, and ends on request. Its lock is a leaf.
package final class ServiceThread: Sendable {
  private struct State {
    var isRunning = false
    var isEnding = false
    var isWoken = false
  }

  private let state = Monitor(State())

  package init() {}

  /// Starts the thread; `body` must call ``sleep(_:wakes:)`` or check ``isEnding`` often. EAGAIN: too many threads.
  package func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    state.withLock { $0.isRunning = true }
    do throws(SystemError) {
      try SystemThread.detach { [self] in
        body()
        markEnded()
      }
    } catch {
      markEnded()
      throw error
    }
  }

  private func markEnded() {
    state.withLock { $0.isRunning = false }
    state.broadcast()
  }

  package var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Wakes the thread; if it is not asleep, its next sleep that can be woken ends at once.
  package func wake() {
    state.withLock { $0.isWoken = true }
    state.broadcast()
  }

  /// Sleeps in the calling thread, which must be this one, until the time (nil: never), the end, or a wake-up if
  /// `wakes`; earlier wake-ups are forgotten. False once the thread must end.
  package func sleep(_ nanoseconds: UInt64?, wakes: Bool) -> Bool {
    _ = state.wait(nanoseconds: nanoseconds) { state in
      state.isEnding || wakes && state.isWoken ? true : nil
    }
    return state.withLock { state in
      state.isWoken = false
      return !state.isEnding
    }
  }

  /// Requests the end and waits for it; `stirring` interrupts any wait of the thread's own.
  package func end(stirring: () -> Void = {}) {
    state.withLock { $0.isEnding = true }
    state.broadcast()
    stirring()
    _ = state.wait { $0.isRunning ? nil : true }
  }
}
