import Platform

/// The parked requests of a session and the thread that interrupts them.
///
/// The kernel tells that a caller has a signal, but not which. One that the caller handles and goes on after
/// (a child that ended, a terminal that was resized) would not interrupt a call of a local file system, and
/// does not here: it is looked up which signals wait for him, and again while the request goes on, since the
/// kernel tells once only.
///
/// - Concurrency: Callable from any thread; handlers run without a lock held.
final class ParkedRequests: Sendable {
  private enum Slot {
    /// Counted; its handler is about to come.
    case announced
    /// Interrupted before its handler came.
    case interruptedEarly
    case waiting(Handler)
    /// Told of a signal; whether it ends the caller's wait is not known, or it does not.
    case signalled(Handler)
  }

  private struct Handler: Sendable {
    var caller: Int32
    var run: @Sendable () -> Void
  }

  /// How often it is looked at whether a caller with a signal got another.
  private static let glance: UInt64 = 200_000_000

  private struct State {
    var slots: [UInt64: Slot] = [:]
    /// Slots that were signalled and not looked at yet.
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

  /// Counts a request as parked and gives it a number, never 0.
  func announce() -> UInt64 {
    monitor.withLock { state in
      defer { state.nextNumber += 1 }
      state.unanswered += 1
      state.slots[state.nextNumber] = .announced
      return state.nextNumber
    }
  }

  /// Says what is to run when the caller, a thread, is told to stop waiting.
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

  /// Has the request's handler run if the caller's signals ask for it; numbers that are not known any more
  /// do nothing.
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
  /// No request may be parked any more when it is called.
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
        // Of a caller that is not there any more nobody waits.
        guard SystemProcess.isAskedToEnd(thread: handler.caller) ?? true else { continue }
        let isKnown = monitor.withLock { $0.slots.removeValue(forKey: number) != nil }
        if isKnown { handler.run() }
      }
    }
  }
}
