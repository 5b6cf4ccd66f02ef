import Platform
import Testing

@Suite("A thread that stands by", .timeLimit(.minutes(1)))
struct ServiceThreadTests {
  @Test("it sleeps until it is woken, and the end is waited for")
  func wakes() throws {
    let thread = ServiceThread()
    let rounds = Monitor(0)
    try thread.start {
      while thread.sleep(nil, wakes: true) {
        rounds.withLock { $0 += 1 }
        rounds.broadcast()
      }
      rounds.withLock { $0 = -1 }
    }
    for round in 1...3 {
      thread.wake()
      #expect(rounds.wait { $0 >= round ? true : nil } == true)
    }
    thread.end()
    #expect(rounds.withLock { $0 } == -1)
    #expect(thread.isEnding)
  }

  @Test("who wakes it while it works keeps it from sleeping")
  func wokenBefore() throws {
    let thread = ServiceThread()
    thread.wake()
    let isAwake = Monitor(false)
    try thread.start {
      isAwake.withLock { $0 = false }
      let goesOn = thread.sleep(nil, wakes: true)
      isAwake.withLock { $0 = goesOn }
      isAwake.broadcast()
    }
    #expect(isAwake.wait { $0 ? true : nil } == true)
    thread.end()
  }

  @Test("a wait that nobody may end is ended by the end alone, one of its own by who ends it")
  func stirred() throws {
    let thread = ServiceThread()
    let other = Monitor(false)
    let order = Monitor([String]())
    try thread.start {
      let goesOn = thread.sleep(60_000_000_000, wakes: false)
      order.withLock { $0.append("slept, goes on: \(goesOn)") }
      _ = other.wait { $0 ? true : nil }
      order.withLock { $0.append("stirred") }
    }
    thread.wake()
    thread.end {
      other.withLock { $0 = true }
      other.broadcast()
    }
    #expect(order.withLock { $0 } == ["slept, goes on: false", "stirred"])
  }

  @Test("one that was never started has ended")
  func neverStarted() {
    let thread = ServiceThread()
    thread.end()
    #expect(!thread.sleep(nil, wakes: true))
  }
}
