import Platform

/// The parked requests of a session, and the thread that interrupts them.
///
/// The kernel reports that a caller has a signal, but not which. A signal that the caller handles
/// and continues after (a child ended, a terminal was resized) would not interrupt a call of a
/// local file system, and does not interrupt one here. So the thread looks up the caller's pending
/// signals, and looks again while the request is parked, since the kernel reports only once.
///
/// - Concurrency: Callable from any thread; handlers run without a lock held.
final class ParkedRequests: Sendable {
  private enum Slot {
    /// The request is counted; its handler will be added next.
    case announced
    /// The request was interrupted before its handler was added.
    case interruptedEarly
    case waiting(Handler)
    /// The caller got a signal. It is unknown whether that ends its wait, or it does not.
    case signalled(Handler)
  }

  private struct Handler: Sendable {
    var caller: Int32
    var run: @Sendable () -> Void
  }

  /// The interval between two looks at the signals of callers that had one before, in nanoseconds.
  private static let glance: UInt64 = 200_000_000

  private struct State {
    var slots: [UInt64: Slot] = [:]
    /// Requests whose callers got a signal and whose signals were not looked up yet.
    var due: [UInt64] = []
    var nextNumber: UInt64 = 1
    var unanswered = 0
    var isThreadRunning = false
    var isClosed = false

    var signalled: [(UInt64, Handler)] {
      slots.compactMap { number, slot in
        guard case .signalled(let handler) = slot else { return nil }
        return (number, handler)
      }
    }
  }

  private let monitor = Monitor(State())

  /// Counts a request as parked and returns its number, which is never 0.
  func announce() -> UInt64 {
    monitor.withLock { state in
      defer { state.nextNumber += 1 }
      state.unanswered += 1
      state.slots[state.nextNumber] = .announced
      return state.nextNumber
    }
  }

  /// Sets the handler that runs when the calling thread is told to stop waiting.
  func add(_ number: UInt64, caller: Int32, _ handler: @escaping @Sendable () -> Void) {
    let handler = Handler(caller: caller, run: handler)
    let startsThread = monitor.withLock { state in
      if case .interruptedEarly? = state.slots[number] {
        state.slots[number] = .signalled(handler)
        state.due.append(number)
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
        // Without the thread no signal is handled until the next parked request starts it.
        monitor.withLock { $0.isThreadRunning = false }
      }
    }
    monitor.broadcast()
  }

  /// Removes a request's handler, since the request is being answered.
  func remove(_ number: UInt64) {
    // Released outside the lock: the handler may own much.
    let slot = monitor.withLock { $0.slots.removeValue(forKey: number) }
    withExtendedLifetime(slot) {}
  }

  /// Runs the request's handler if the caller's signals demand it; does nothing for an unknown
  /// number.
  func interrupt(_ number: UInt64) {
    monitor.withLock { state in
      switch state.slots[number] {
      case .announced: state.slots[number] = .interruptedEarly
      case .waiting(let handler):
        state.slots[number] = .signalled(handler)
        state.due.append(number)
      case .interruptedEarly, .signalled, nil: break
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
  /// No request may be parked after this call begins.
  func close() {
    let handlers = monitor.withLock { state in
      state.isClosed = true
      let handlers = state.slots.values.compactMap { slot -> (@Sendable () -> Void)? in
        switch slot {
        case .waiting(let handler), .signalled(let handler): handler.run
        case .announced, .interruptedEarly: nil
        }
      }
      state.due.removeAll()
      state.slots.removeAll()
      return handlers
    }
    for handler in handlers { handler() }
    monitor.broadcast()
    monitor.wait { $0.unanswered == 0 ? () : nil }
  }

  private func run() {
    while true {
      let glance = monitor.withLock { $0.signalled.isEmpty ? nil : Self.glance }
      let isDue = monitor.wait(nanoseconds: glance) { state -> Bool? in
        if state.isClosed { return false }
        guard !state.due.isEmpty else { return nil }
        state.due.removeAll()
        return true
      }
      if isDue == false { return }
      for (number, handler) in monitor.withLock({ $0.signalled }) {
        // If the calling thread is gone, nothing waits for the answer: the handler runs too.
        guard SystemProcess.isAskedToEnd(thread: handler.caller) ?? true else { continue }
        let isKnown = monitor.withLock { $0.slots.removeValue(forKey: number) != nil }
        if isKnown { handler.run() }
      }
    }
  }
}
