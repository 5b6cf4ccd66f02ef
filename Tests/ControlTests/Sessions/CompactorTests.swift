import LLVSCore
import Platform
import TestSupport
import Testing

@testable import Control
@testable import TreeSupport
@testable import WorkingTree

@Suite("Forgetting by itself", .timeLimit(.minutes(2)))
struct CompactorTests {
  let clock = TurnedClock()
  private func forgotten(_ space: ControlWorkspace) throws -> Int {
    try space.store.forgottenVersions().count
  }

  @Test("a quiet mount forgets once a day, what is worth it")
  func quiet() throws {
    let space = try ControlWorkspace(clock: clock.clock)
    let compactor = Compactor(space.service)
    try space.fill(5)
    clock.pass(2 * TurnedClock.day)
    // With keep=all, nothing.
    for _ in 0..<3 { compactor.look() }
    #expect(try forgotten(space) == 0)
    try space.run("keep all:1d")
    // Versions were made since the last look, and something is pending.
    try space.fill(1)
    compactor.look()
    try space.write("new", "text")
    compactor.look()
    #expect(try forgotten(space) == 0)
    try space.run("commit")
    compactor.look()
    #expect(try forgotten(space) == 0)
    compactor.look()
    #expect(try forgotten(space) == 6)
    // Not again on that day.
    try space.fill(4)
    clock.pass(TurnedClock.day - 10 * TurnedClock.minute)
    for _ in 0..<3 { compactor.look() }
    #expect(try forgotten(space) == 6)
    clock.pass(11 * TurnedClock.minute)
    compactor.look()
    #expect(try forgotten(space) > 8)
    #expect(try space.service.status().text.contains("came free"))
    #expect(try space.store.verify().isSound)
  }

  @Test("what is less than a tenth of the store stays, and status says how much it is")
  func little() throws {
    let space = try ControlWorkspace(clock: clock.clock)
    let compactor = Compactor(space.service)
    try space.write("large", ControlWorkspace.text(7, 1_000_000))
    try space.fill(2, length: 20_000)
    try space.run("keep all:1d")
    clock.pass(2 * TurnedClock.day)
    for _ in 0..<2 { compactor.look() }
    #expect(try forgotten(space) == 0)
    #expect(try space.service.status().text.contains("would free "))
    try space.run("compact")
    #expect(try forgotten(space) == 1)
  }

  @Test("after the clock leapt nothing is forgotten until it has been right for a day")
  func leap() throws {
    let space = try ControlWorkspace(clock: clock.clock)
    let compactor = Compactor(space.service)
    try space.fill(4)
    try space.run("keep all:30d")
    compactor.look()
    clock.leap(100 * TurnedClock.day)
    for _ in 0..<3 {
      compactor.look()
      clock.pass(TurnedClock.minute)
    }
    #expect(try forgotten(space) == 0)
    clock.leap(-100 * TurnedClock.day)
    for _ in 0..<30 {
      compactor.look()
      clock.pass(TurnedClock.day / 24)
    }
    #expect(try forgotten(space) == 0)
    clock.pass(40 * TurnedClock.day)
    for _ in 0..<2 { compactor.look() }
    #expect(try forgotten(space) == 3)
  }

  @Test("under load a run begins when more is forgettable than the head has, and then waits")
  func load() throws {
    let space = try ControlWorkspace(clock: clock.clock)
    let compactor = Compactor(space.service, loadBytes: 1 << 20)
    try space.run("keep all:1s")
    // The daily look finds nothing.
    compactor.look()
    compactor.look()
    func work() throws {
      try space.fill(6, length: 600_000)
      try space.write("new", "pending")
      clock.pass(2_000_000_000)
      compactor.look()
    }
    try work()
    #expect(try forgotten(space) == 5)
    try work()
    #expect(try forgotten(space) == 5)
    clock.pass(2 * TurnedClock.minute)
    compactor.look()
    #expect(try forgotten(space) > 10)
    #expect(try space.store.verify().isSound)
  }
}
