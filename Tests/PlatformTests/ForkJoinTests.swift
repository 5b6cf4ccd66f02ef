import Platform
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ForkJoinTests {
  @Test("both parts are done when it returns, again after it has rested")
  func parts() {
    let companion = ForkJoin(name: "test")
    for round in 0..<2000 {
      // Shorter and longer than it takes to wake up.
      let pause = UInt64(round % 7) * 5000
      var part = 0
      var own = 0
      _ = companion.both {
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
    let companion = ForkJoin(name: "test")
    let count = Count()
    let work: @Sendable () -> Void = {
      for _ in 0..<2000 {
        _ = companion.both {
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

  private struct Fault: Error, Equatable { var part: String }

  @Test("the error of the part comes first, and both are done")
  func errors() {
    let helper = ForkJoin(name: "test")
    for (fails, ownFails, expected) in [
      (true, true, "part"), (true, false, "part"), (false, true, "own"),
    ] {
      for _ in 0..<200 {
        let done = Count()
        #expect(throws: Fault(part: expected)) {
          _ = try helper.both { () throws(Fault) in
            done.parts.add(1, ordering: .relaxed)
            if fails { throw Fault(part: "part") }
          } beside: { () throws(Fault) in
            done.own.add(1, ordering: .relaxed)
            if ownFails { throw Fault(part: "own") }
          }
        }
        #expect(done.parts.load(ordering: .relaxed) == 1 && done.own.load(ordering: .relaxed) == 1)
      }
    }
  }

  @Test("the results of a map are in order, for any count", arguments: [0, 1, 15, 16, 17, 1000])
  func map(count: Int) {
    let helper = ForkJoin(name: "test")
    #expect(helper.map(count) { $0 * 3 } == (0..<count).map { $0 * 3 })
  }

  @Test("a part may share its own work out")
  func nested() {
    let helper = ForkJoin(name: "test")
    for _ in 0..<100 {
      let (a, b) = helper.both {
        helper.map(100) { $0 }.count
      } beside: {
        helper.map(200) { $0 }.count
      }
      #expect(a == 100 && b == 200)
    }
  }
}
