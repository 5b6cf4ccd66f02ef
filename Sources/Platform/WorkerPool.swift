/// Threads for work that blocks: as many as there is work; an idle thread ends after a while.
package final class WorkerPool: Sendable {
  private struct State {
    var queue: [@Sendable () -> Void] = []
    var idle = 0
    var running = 0
  }

  private let name: String
  private let limit: Int
  private let patience: UInt64
  private let state = Monitor(State())

  /// At most `limit` threads, which wait `patience` nanoseconds for work; more work waits in the queue.
  package init(name: String, limit: Int = 1024, patience: UInt64 = 10_000_000_000) {
    self.name = name
    self.limit = limit
    self.patience = patience
  }

  package func run(_ work: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state -> Bool in
      state.queue.append(work)
      guard state.queue.count > state.idle, state.running < limit else { return false }
      state.running += 1
      return true
    }
    state.broadcast()
    guard needsThread else { return }
    do throws(SystemError) {
      try SystemThread.detach(name: name) { [self] in while let work = next() { work() } }
    } catch {
      // Another thread does the work when it is free; without one this thread does it now.
      let mine = state.withLock { state -> (@Sendable () -> Void)? in
        state.running -= 1
        return state.running == 0 ? state.queue.popLast() : nil
      }
      mine?()
    }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { $0.idle += 1 }
    let found = state.wait(nanoseconds: patience) { state -> (@Sendable () -> Void)? in
      guard !state.queue.isEmpty else { return nil }
      state.idle -= 1
      return state.queue.removeFirst()
    }
    if let found { return found }
    return state.withLock { state in
      state.idle -= 1
      // Work that was added after the wait must not stay in the queue.
      if !state.queue.isEmpty { return state.queue.removeFirst() }
      state.running -= 1
      return nil
    }
  }
}
