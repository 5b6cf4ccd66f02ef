import Platform
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ForkJoinHelperTests {
  @Test("both parts are done when it returns, again after it has rested")
  func parts() {
    let companion = ForkJoinHelper(name: "test")
    for round in 0..<2000 {
      // Shorter and longer than it takes to wake up.
      let pause = UInt64(round % 7) * 5000
      var part = 0
      var own = 0
      companion.share {
        if round % 3 == 0 { SystemClock.sleep(nanoseconds: pause) }
        part += 1
      } beside: {
        if round % 2 == 0 { SystemClock.sleep(nanoseconds: pause) }
        own += 1
      }
      #expect(part == 1 && own == 1)
      if round == 1000 { SystemClock.sleep(nanoseconds: 1_200_000_000) }
    }
  }

  private final class Count: Sendable {
    let parts = Atomic<Int>(0)
    let own = Atomic<Int>(0)
  }

  @Test("whoever finds it busy does all by himself")
  func many() throws {
    let companion = ForkJoinHelper(name: "test")
    let count = Count()
    let work: @Sendable () -> Void = {
      for _ in 0..<2000 {
        companion.share {
          count.parts.add(1, ordering: .relaxed)
        } beside: {
          count.own.add(1, ordering: .relaxed)
        }
      }
    }
    let first = try SystemThread(name: "first", work)
    let second = try SystemThread(name: "second", work)
    work()
    first.join()
    second.join()
    #expect(count.parts.load(ordering: .relaxed) == 6000)
    #expect(count.own.load(ordering: .relaxed) == 6000)
  }
}
