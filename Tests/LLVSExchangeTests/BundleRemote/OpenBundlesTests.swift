import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange

/// The bundles that an exchange holds in memory.
@Suite("Bundles that are read and kept open", .timeLimit(.minutes(2)))
struct OpenBundlesTests {
  private let world: RemoteWorld

  init() throws { world = try RemoteWorld() }

  /// Puts bundles with two versions each.
  private func put(_ count: Int) throws -> Store {
    let a = try world.store("a")
    var random = SeededRandom(seed: 12)
    let remote = world.remote { $0.combining = CombiningRules(runLength: 1000, goal: 32 << 20) }
    for index in 0..<count {
      try world.make(a, ["k": random.bytes(300)])
      try world.make(a, ["k": random.bytes(300), "l\(index)": [1]])
      _ = try remote.send(from: a, ExchangeControl())
    }
    return a
  }

  @Test(
    "what has no place in memory beside the others is read after them, and asked for once",
    arguments: [(1, 10), (1 << 30, 1)])
  func rounds(_ bytes: Int, _ rounds: Int) throws {
    let a = try put(10)
    let b = try world.store("b")
    let told = Mutex<[ExchangeControl.Progress]>([])
    let control = ExchangeControl(progress: { progress in told.withLock { $0.append(progress) } })
    world.objects.reset()
    _ = try world.remote { $0.readingBytes = bytes }.retrieve(into: b, control)
    // The reports of versions have another total.
    let reading = told.withLock { $0.filter { $0.phase == .reading && $0.total == 10 } }
    #expect(reading.count == rounds)
    #expect(reading.map(\.done) == Array(0..<rounds))
    // Between rounds, once, for keys: what is encrypted for others is not to be stored.
    #expect(world.objects.counts.requests == (rounds > 1 ? 12 : 11))
    #expect(try RemoteWorld.content(b) == RemoteWorld.content(a))
  }

  @Test(
    "an interrupted retrieval of many short bundles keeps most of what came, and reads no byte twice"
  )
  func interrupted() throws {
    let a = try world.store("a")
    var random = SeededRandom(seed: 13)
    let remote = world.remote { $0.combining = CombiningRules(runLength: 1000, goal: 32 << 20) }
    for index in 0..<60 {
      try world.make(a, ["k\(index)": random.bytes(100_000)])
      _ = try remote.send(from: a, ExchangeControl())
      world.clock.advance(60)
    }
    let b = try world.store("b")
    world.objects.reset()
    let objects = world.objects
    #expect(throws: StoreError.self) {
      try world.remote().retrieve(
        into: b, ExchangeControl(isCancelled: { objects.counts.got > 4_000_000 }))
    }
    let (first, versions) = (objects.counts.got, try b.state().lastNumber)
    #expect(versions >= 20 && versions < 45, "\(versions)")
    let report = try world.remote().retrieve(into: b, ExchangeControl())
    #expect(report.taken.count == 60 - Int(versions))
    let again = objects.counts.got - first
    #expect(again < UInt64(62 - versions) * 101_000, "\(again) bytes for \(60 - versions) versions")
    #expect(try RemoteWorld.content(b) == RemoteWorld.content(a))
  }

  @Test("the first has a place, however much it takes, and others up to the limit")
  func budget() {
    let budget = ReadingBudget(100)
    #expect(budget.take(500))
    #expect(!budget.take(1))
    let other = ReadingBudget(100)
    #expect(other.take(60) && !other.take(41) && other.take(40) && !other.take(1))
  }

  @Test("bundles are kept open up to a number of bytes, the newest in any case")
  func kept() throws {
    let a = try put(3)
    let session = try BundleSession(a, world.objects, world.remote().options, ExchangeControl())
    let names = session.listing.names
    let open = try names.map { try session.opened($0) }
    let memory = open.map(\.memory)
    let two = OpenBundles(budget: memory[1] + memory[2])
    for bundle in open { two.keep(bundle) }
    #expect(two.count == 2 && two.bundle(names[0]) == nil)
    #expect(two.bundle(names[1]) != nil && two.bundle(names[2]) != nil)
    let one = OpenBundles(budget: 1)
    for bundle in open { one.keep(bundle) }
    #expect(one.count == 1 && one.bundle(names[2]) != nil)
  }
}
