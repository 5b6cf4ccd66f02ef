import Platform

/// The parked requests of a session and the thread that interrupts them.
///
/// - Concurrency: Callable from any thread; handlers run without a lock held.
final class ParkedRequests: Sendable {
  private enum Slot {
    /// Counted; its handler is about to come.
    case announced
    /// Interrupted before its handler came.
    case interruptedEarly
    case waiting(@Sendable () -> Void)
  }

  private struct State {
    var slots: [UInt64: Slot] = [:]
    var due: [@Sendable () -> Void] = []
    var nextNumber: UInt64 = 1
    var unanswered = 0
    var isThreadRunning = false
    var isClosed = false
  }

  private let monitor = Monitor(State())

  /// Counts a request as parked and gives it a number, never 0.
  func announce() -> UInt64 {
    monitor.withLock { state in
      defer { state.nextNumber += 1 }
      state.unanswered += 1
      state.slots[state.nextNumber] = .announced
      return state.nextNumber
    }
  }

  /// Says what is to run when the request is interrupted.
  func add(_ number: UInt64, _ handler: @escaping @Sendable () -> Void) {
    let startsThread = monitor.withLock { state in
      if case .interruptedEarly? = state.slots[number] {
        state.slots[number] = nil
        state.due.append(handler)
      } else {
        state.slots[number] = .waiting(handler)
      }
      defer { state.isThreadRunning = true }
      return !state.isThreadRunning
    }
    if startsThread {
      do throws(SystemError) {
        try SystemThread.detach(name: "llvs-interrupt") { [self] in run() }
      } catch {
        // Signals wait until the next request that is parked brings the thread.
        monitor.withLock { $0.isThreadRunning = false }
      }
    }
    monitor.broadcast()
  }

  /// Forgets a request's handler: it is being answered.
  func remove(_ number: UInt64) {
    // The handler is released outside the lock: it may own much.
    let slot = monitor.withLock { $0.slots.removeValue(forKey: number) }
    withExtendedLifetime(slot) {}
  }

  /// Has the request's handler run; numbers that are not known any more do nothing.
  func interrupt(_ number: UInt64) {
    monitor.withLock { state in
      switch state.slots[number] {
      case .announced: state.slots[number] = .interruptedEarly
      case .waiting(let handler):
        state.slots[number] = nil
        state.due.append(handler)
      case .interruptedEarly, nil: break
      }
    }
    monitor.broadcast()
  }

  /// Counts a parked request as answered.
  func settled() {
    monitor.withLock { $0.unanswered -= 1 }
    monitor.broadcast()
  }

  /// Interrupts every parked request and waits until all are answered.
  ///
  /// No request may be parked any more when it is called.
  func close() {
    let handlers = monitor.withLock { state in
      state.isClosed = true
      var handlers = state.due
      state.due.removeAll()
      for case .waiting(let handler) in state.slots.values { handlers.append(handler) }
      state.slots.removeAll()
      return handlers
    }
    for handler in handlers { handler() }
    monitor.broadcast()
    monitor.wait { $0.unanswered == 0 ? () : nil }
  }

  private func run() {
    while true {
      let handlers: [@Sendable () -> Void]? = monitor.wait { state in
        // None are due at the end only.
        guard !state.due.isEmpty || state.isClosed else { return nil }
        defer { state.due.removeAll() }
        return state.due
      }
      guard let handlers, !handlers.isEmpty else { return }
      for handler in handlers { handler() }
    }
  }
}
