import Platform

/// The parked requests of a session, and the thread that interrupts them.
///
/// The kernel reports once that a caller has a signal, but not which. A signal that the caller handles (a child
/// ended, a terminal was resized) interrupts no call here, as in a local file system. So the thread reads the
/// caller's pending signals periodically.
/// - Concurrency: Callable from any thread; handlers run without a lock held.
final class ParkedRequests: Sendable {
  private enum Slot {
    /// Counted, before its handler is added.
    case announced
    case interruptedEarly
    case waiting(Handler)
    /// The caller got a signal that may not end its wait.
    case signalled(Handler)
  }

  private struct Handler: Sendable {
    var caller: Int32
    var run: @Sendable () -> Void
  }

  /// The interval between two checks of callers' signals, in nanoseconds.
  private static let glance: UInt64 = 200_000_000

  private struct State {
    var slots: [UInt64: Slot] = [:]
    /// Requests whose callers' signals are still to be read.
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

  /// Counts a request and returns its number, which is never 0.
  func announce() -> UInt64 {
    monitor.withLock { state in
      defer { state.nextNumber += 1 }
      state.unanswered += 1
      state.slots[state.nextNumber] = .announced
      return state.nextNumber
    }
  }

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
        // The next parked request starts the thread.
        monitor.withLock { $0.isThreadRunning = false }
      }
    }
    monitor.broadcast()
  }

  /// Removes the handler of a request before its answer.
  func remove(_ number: UInt64) {
    // Released outside the lock.
    let slot = monitor.withLock { $0.slots.removeValue(forKey: number) }
    withExtendedLifetime(slot) {}
  }

  /// Runs a known request's handler if the caller's signals require it.
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

  func settled() {
    monitor.withLock { $0.unanswered -= 1 }
    monitor.broadcast()
  }

  /// Interrupts every parked request and waits until all are answered; none may be parked afterwards.
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
        // The handler also runs if the calling thread has ended.
        guard SystemProcess.isAskedToEnd(thread: handler.caller) ?? true else { continue }
        let isKnown = monitor.withLock { $0.slots.removeValue(forKey: number) != nil }
        if isKnown { handler.run() }
      }
    }
  }
}
