/// A thread that stands by, works when it is woken or its time has come, and ends when it is told to.
///
/// - Concurrency: callable from any thread; its lock is a leaf.
package final class ServiceThread: Sendable {
  private struct State {
    var isRunning = false
    var isEnding = false
    var isWoken = false
  }

  private let state = Monitor(State())

  /// Prepares a thread.
  package init() {}

  /// Starts the thread, which runs `body` once; that is to look at ``sleep(_:wakes:)`` or ``isEnding`` often.
  ///
  /// - Throws: EAGAIN when there are too many threads.
  package func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    state.withLock { $0.isRunning = true }
    do throws(SystemError) {
      try SystemThread.detach { [self] in
        body()
        noteEnd()
      }
    } catch {
      noteEnd()
      throw error
    }
  }

  private func noteEnd() {
    state.withLock { $0.isRunning = false }
    state.broadcast()
  }

  /// Whether it was told to end.
  package var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Wakes the thread, or keeps it from sleeping the next time that it may be woken.
  package func wake() {
    state.withLock { $0.isWoken = true }
    state.broadcast()
  }

  /// Has the thread itself wait until the time is up, it is woken, or the end.
  ///
  /// - Parameters:
  ///   - nanoseconds: how long at most; nil for ever.
  ///   - wakes: whether ``wake()`` ends the wait; what has woken it until then is forgotten either way.
  /// - Returns: false once it is to end.
  package func sleep(_ nanoseconds: UInt64?, wakes: Bool) -> Bool {
    _ = state.wait(nanoseconds: nanoseconds) { state in
      state.isEnding || wakes && state.isWoken ? true : nil
    }
    return state.withLock { state in
      state.isWoken = false
      return !state.isEnding
    }
  }

  /// Tells the thread to end and waits until it has; `stirring` gets it out of waits of its own.
  package func end(stirring: () -> Void = {}) {
    state.withLock { $0.isEnding = true }
    state.broadcast()
    stirring()
    _ = state.wait { $0.isRunning ? nil : true }
  }
}
