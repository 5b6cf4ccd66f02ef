import Foundation
import ObjectStores
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// What two stores may rely on at a remote of bundles, and what they do where they may not.
@Suite("The rules of bundles, at a remote", .timeLimit(.minutes(3)))
struct BundleRuleTests {
  private let world: RemoteWorld

  init() throws { world = try RemoteWorld() }

  private func content(_ name: String) throws -> [Version.ID: Digest] {
    let fresh = try world.store(name)
    let report = try world.retrieve(fresh)
    #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(report.refused + report.waiting)")
    return try RemoteWorld.content(fresh)
  }

  @Test("many small sends leave few bundles, and the old ones go after the grace")
  func few() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    try world.make(b, ["b": [1]])
    try world.send(b)
    let others = try world.objects.names
    try world.retrieve(a)
    var random = SeededRandom(seed: 2)
    var most = 0
    for index in 0..<120 {
      try world.make(a, ["k\(index % 7)": random.bytes(300)])
      #expect(try world.send(a).sent.count == 1)
      world.clock.advance(hours: 2)
      most = max(most, try world.objects.names.count)
    }
    #expect(most < 70, "\(most)")
    #expect(try Set(world.objects.names).isSuperset(of: others))
    #expect(try content("fresh") == RemoteWorld.content(a))
    // Who had everything takes nothing in again, and reads no outline of what was put together.
    try world.retrieve(b)
    #expect(try RemoteWorld.content(b) == RemoteWorld.content(a))
  }

  @Test("the many small bundles of a day become few, and no other writer relies on them")
  func fewOfADay() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    let remote = world.remote { $0.send.leastLength = 64 << 10 }
    var random = SeededRandom(seed: 3)
    var most = 0
    for index in 0..<200 {
      let bytes = random.bytes(3000)
      try world.make(a, ["k\(index % 7)": bytes])
      _ = try remote.send(from: a, ExchangeControl())
      world.clock.advance(300)
      most = max(most, try world.objects.names.count)
      guard index % 20 == 19 else { continue }
      _ = try remote.retrieve(into: b, ExchangeControl())
      try world.make(b, ["copy": bytes])
      world.objects.reset()
      _ = try remote.send(from: b, ExchangeControl())
      #expect(world.objects.counts.put > 3000)
      _ = try remote.retrieve(into: a, ExchangeControl())
    }
    #expect(most < 130, "\(most)")
    #expect(try content("fresh") == RemoteWorld.content(a))
    #expect(try RemoteWorld.content(a) == RemoteWorld.content(b))
  }

  @Test("bundles are not removed before the grace, by this clock and by the server's")
  func grace() throws {
    let a = try world.store("a")
    for index in 0..<17 {
      try world.make(a, ["k": [UInt8](repeating: UInt8(index), count: 300)])
      try world.send(a)
    }
    let all = try world.objects.names
    // Sixteen became one, which stands beside them.
    #expect(all.count == 18)
    world.clock.advance(hours: 23)
    try world.make(a, ["k": [1]])
    try world.send(a)
    #expect(world.objects.counts.deletes.isEmpty)
    // This store's clock is ahead: by the server's only an hour has passed.
    let remote = world.remote {
      $0.clock = BundleClock(
        now: { [clock = world.clock] in clock.now + 30 * 3600 },
        boottime: { [clock = world.clock] in UInt64(clock.now) * 1_000_000_000 })
    }
    _ = try remote.send(from: a, ExchangeControl())
    #expect(world.objects.counts.deletes.isEmpty)
    world.clock.advance(hours: 2)
    try world.make(a, ["k": [2]])
    try world.send(a)
    #expect(world.objects.counts.deletes.isEmpty)
    world.clock.advance(hours: 24)
    try world.make(a, ["k": [3]])
    try world.send(a)
    try world.send(a)
    #expect(world.objects.counts.deletes.count >= 16)
    #expect(try content("fresh") == RemoteWorld.content(a))
  }

  @Test("a PUT that something else answered is done again once a later list lacks it")
  func swallowed() throws {
    let a = try world.store("a")
    world.objects.tellClock()
    try world.make(a, ["k": [1]])
    world.objects.swallow(true)
    #expect(try world.send(a).sent.count == 1)
    world.objects.swallow(false)
    // A list of the same second may have been made before it.
    #expect(try world.send(a).sent.isEmpty && world.objects.names.isEmpty)
    world.clock.advance(1)
    #expect(try world.send(a).sent.count == 1)
    #expect(try content("fresh") == RemoteWorld.content(a))
  }

  @Test("where a server refuses long objects bundles are shorter, and stay so")
  func tooLarge() throws {
    let a = try world.store("a")
    var random = SeededRandom(seed: 9)
    func values() -> [String: [UInt8]] {
      Dictionary(uniqueKeysWithValues: (0..<6).map { ("r\($0)", random.bytes(500_000)) })
    }
    world.objects.bound(1 << 20)
    try world.make(a, ["first": [1]])
    try world.make(a, values())
    #expect(try world.send(a).sent.count == 2)
    #expect(world.objects.refused > 0)
    world.objects.bound(1 << 20)
    for _ in 0..<6 {
      try world.make(a, values())
      #expect(try world.send(a).sent.count == 1)
    }
    #expect(world.objects.refused == 0)
    #expect(try content("fresh") == RemoteWorld.content(a))
    world.objects.bound(1000)
    try world.make(a, values())
    #expect(throws: StoreError.self) { try world.send(a) }
  }

  @Test("bytes that do not match are asked for twice more", arguments: [1000, 700_000], 0...3)
  func garbled(_ length: Int, _ count: Int) throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 12)
    try world.make(a, ["k": random.bytes(length)])
    try world.send(a)
    world.objects.garble(count)
    let report = try world.retrieve(b)
    #expect(report.taken.count == (count < 3 ? 1 : 0), "\(report.refused)")
    // What was changed on its way is whole with the next exchange.
    #expect(try world.retrieve(b).taken.count == (count < 3 ? 0 : 1))
  }

  @Test("a store that begins with an empty place after another one has begun sends nothing")
  func beginning() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    for (store, byte) in [(a, 1), (b, 2)] { try world.make(store, ["k": [UInt8(byte)]]) }
    let session = try BundleSession(a, world.objects, world.remote().options, ExchangeControl())
    let sender = try BundleSender(session)
    let missing = try sender.missing()
    try world.send(b)
    #expect(throws: StoreError.self) { try sender.send(missing) }
    #expect(try world.objects.names.count == 1)
  }

  @Test("an interrupted retrieval keeps what came, from the first MiB on")
  func interrupted() throws {
    let a = try world.store("a")
    var random = SeededRandom(seed: 10)
    for index in 0..<100 { try world.make(a, ["k\(index % 9)": random.bytes(64_000)]) }
    try world.send(a)
    let total = world.objects.counts.put
    var most: UInt32 = 0
    var kept: UInt32 = 0
    for request in 0..<30 {
      let b = try world.store("b\(request)")
      world.objects.reset(kill: .init(request: request, isAnswerLost: false))
      guard (try? world.retrieve(b)) == nil else { break }
      most = max(most, try b.state().lastNumber)
      guard most > 0, kept == 0 else { continue }
      kept = most
      world.objects.reset()
      try world.retrieve(b)
      #expect(try RemoteWorld.content(b) == RemoteWorld.content(a))
      #expect(world.objects.counts.got < total)
    }
    #expect((10..<50).contains(kept), "\(kept)")
    #expect((kept..<100).contains(most), "\(most)")
  }

  @Test("where nothing may be removed nothing is")
  func removeOff() throws {
    let a = try world.store("a")
    let remote = world.remote { $0.removes = false }
    for index in 0..<40 {
      try world.make(a, ["k": [UInt8](repeating: UInt8(index), count: 300)])
      _ = try remote.send(from: a, ExchangeControl())
      world.clock.advance(hours: 30)
    }
    #expect(world.objects.counts.deletes.isEmpty)
  }

  @Test("junk under a writer's name costs its bytes nothing, and no trust after its next bundle")
  func junk() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 11)
    let photo = random.bytes(700_000)
    try world.make(a, ["photo": photo])
    try world.send(a)
    try world.retrieve(b)
    let bytes = random.bytes(5000)
    let name = BundleName(
      writer: a.replicaID, sequence: 5, length: 5000, hash: Digest.of(bytes))
    try world.objects.replace(name.text, by: bytes)
    // What is in a readable bundle is not sent again; what is new relies on none that the junk may announce.
    world.objects.reset()
    try world.make(b, ["b": [1]])
    #expect(try world.send(b).sent.count == 1)
    #expect(world.objects.counts.put < 3000)
    try world.make(b, ["copy": photo])
    try world.send(b)
    #expect(world.objects.counts.put > 700_000)
    let other = random.bytes(700_000)
    try world.make(a, ["other": other])
    try world.send(a)
    try world.retrieve(b)
    world.objects.reset()
    try world.make(b, ["copy of other": other])
    try world.send(b)
    #expect(world.objects.counts.put < 3000)
  }

  @Test("bytes that only announced bundles hold are not relied on")
  func announced() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 3)
    let shared = random.bytes(50_000)
    try world.make(a, ["shared": shared])
    try world.send(a)
    try world.retrieve(b)
    let first = try world.objects.names
    for index in 0..<17 {
      try world.make(a, ["k": [UInt8](repeating: UInt8(index), count: 300)])
      try world.send(a)
    }
    // The first bundle is larger than those, and stays: relied on, 50 KB are not sent again.
    world.objects.reset()
    try world.make(b, ["copy": shared])
    try world.send(b)
    #expect(world.objects.counts.put < 20_000)
    #expect(try Set(world.objects.names).isSuperset(of: first))
    try world.retrieve(a)
    #expect(try content("fresh") == RemoteWorld.content(a))
  }

  @Test("what stops counting while a send is under way is put by it")
  func stopsCounting() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 4)
    let shared = random.bytes(3000)
    try world.make(a, ["shared": shared])
    try world.send(a)
    try world.retrieve(b)
    for index in 0..<15 {
      try world.make(a, ["k": [UInt8](repeating: UInt8(index), count: 3000)])
      try world.send(a)
    }
    // What A announces stays out of sight until B has put.
    let visible = Set(try world.objects.names)
    try world.make(a, ["k": random.bytes(3000)])
    let combined = world.remote { $0.combining = CombiningRules(runLength: 2, goal: 32 << 20) }
    _ = try combined.send(from: a, ExchangeControl())
    let hidden = try world.objects.names.filter { !visible.contains($0) }
    #expect(!hidden.isEmpty)
    world.objects.hide(hidden.map { "bundles/\($0)" })
    try world.make(b, ["copy": shared], removing: ["shared"])
    let session = try BundleSession(
      b, world.objects, world.remote().options, ExchangeControl())
    let sender = try BundleSender(session)
    world.objects.hide([])
    _ = try sender.send(sender.missing())
    // The first bundle of A's is announced by now: the bytes stand in one of B's own, or in A's new one.
    let view = session.view()
    let item = BundleItem(.chunk, Digest.of(shared))
    let holders = try session.holders(of: item).map(\.name).filter { view.counts($0) }
    #expect(!holders.isEmpty)
    world.clock.advance(hours: 30)
    try world.make(b, ["tick": [1]])
    try world.send(b)
    try world.retrieve(a)
    try world.send(a)
    #expect(try content("fresh") == RemoteWorld.content(a))
  }

  @Test("a store that meets bundles under its name that it did not write takes another name")
  func cloned() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    try world.make(a, ["a": [1]])
    try world.send(a)
    // B believes that it is A.
    let remote = world.remote { $0.writer = a.replicaID }
    try world.make(b, ["b": [2]])
    _ = try remote.send(from: b, ExchangeControl())
    let writers = Set(try world.objects.names.map { String($0.split(separator: "-")[0]) })
    #expect(writers.count == 2 && writers.contains(a.replicaID))
    #expect(!writers.contains(b.replicaID))
    try world.retrieve(a)
    #expect(try content("fresh") == RemoteWorld.content(a))
  }

  @Test("nobody chooses the numbers of this store's bundles")
  func greatestNumber() throws {
    let a = try world.store("a")
    try world.make(a, ["a": [1]])
    try world.send(a)
    // Torn, so that it is in no list of bundles that are whole.
    let name = BundleName(
      writer: a.replicaID, sequence: .max, length: 1000, hash: Digest.of([1]))
    try world.objects.replace(name.text, by: [1])
    try world.make(a, ["a": [2]])
    #expect(try world.send(a).sent.count == 1)
    try world.make(a, ["a": [3]])
    #expect(try world.send(a).sent.count == 1)
    try world.objects.remove(name.text)
    #expect(try content("fresh") == RemoteWorld.content(a))
  }

  @Test(
    "a bundle that no list has shown counts for a day, one that a list has shown is gone at once")
  func unlisted() throws {
    let a = try world.store("a")
    try world.make(a, ["k": [UInt8](repeating: 1, count: 300)])
    #expect(try world.send(a).sent.count == 1)
    let name = try world.objects.names[0]
    world.objects.hide(["bundles/\(name)"])
    #expect(try world.send(a).sent.isEmpty)
    world.clock.advance(hours: 23)
    #expect(try world.send(a).sent.isEmpty)
    world.clock.advance(hours: 2)
    #expect(try world.send(a).sent.count == 1)
    world.objects.hide([])
    #expect(try world.send(a).sent.isEmpty)
    for name in try world.objects.names { try world.objects.remove(name) }
    #expect(try world.send(a).sent.count == 1)
    #expect(try content("fresh") == RemoteWorld.content(a))
  }

  @Test(
    "the bundles of a lost device are taken over: combined, removed, and its store takes another name"
  )
  func adopted() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    for index in 0..<12 {
      try world.make(a, ["k\(index)": [UInt8](repeating: UInt8(index), count: 500)])
      try world.send(a)
    }
    try world.retrieve(b)
    for index in 0..<6 {
      try world.make(b, ["l\(index)": [UInt8](repeating: UInt8(index), count: 500)])
      try world.send(b)
    }
    let lost = a.replicaID
    let names = try world.objects.names.filter { $0.hasPrefix(lost) }
    func check(_ writer: String) throws {
      try world.remote().checkAdoption(of: writer, by: b, ExchangeControl())
    }
    #expect(throws: StoreError.self) { try check("nobody") }
    #expect(throws: StoreError.self) { try check(b.replicaID) }
    #expect(throws: StoreError.self) { try check(lost) }
    world.clock.advance(hours: 31 * 24)
    try check(lost)
    let keeping = world.remote { $0.adopted = [lost] }
    try world.make(b, ["m": [UInt8](repeating: 9, count: 500)])
    _ = try keeping.send(from: b, ExchangeControl())
    #expect(try world.objects.names.filter { $0.hasPrefix(lost) } == names)
    world.clock.advance(hours: 25)
    // What was taken over stays so, though nobody says it again.
    for index in 0..<2 {
      try world.make(b, ["n": [UInt8](repeating: UInt8(index), count: 500)])
      try world.send(b)
      world.clock.advance(hours: 25)
    }
    #expect(try world.objects.names.filter { $0.hasPrefix(lost) }.isEmpty)
    #expect(try content("fresh") == RemoteWorld.content(b))
    // The device was not lost after all.
    try world.retrieve(a)
    try world.make(a, ["back": [UInt8](repeating: 1, count: 500)])
    #expect(try world.send(a).sent.count == 1)
    #expect(try world.objects.names.filter { $0.hasPrefix(lost) }.isEmpty)
    try world.retrieve(b)
    #expect(try content("later") == RemoteWorld.content(b))
  }

  @Test("a damaged bundle of this store is replaced, and goes after the grace")
  func damaged() throws {
    let a = try world.store("a")
    var random = SeededRandom(seed: 6)
    try world.make(a, ["a": random.bytes(40_000), "b": random.bytes(500)])
    try world.send(a)
    let name = try #require(try world.objects.names.first)
    var bytes = try world.objects.bytes(name)
    bytes[20_000] ^= 1
    try world.objects.replace(name, by: bytes)
    let other = try world.store("other")
    #expect(try world.retrieve(other).taken.isEmpty)
    // It is found when it is read, by whoever relies on it.
    let directory = world.remote { $0.removal = .directory }
    try world.make(a, ["c": [1]])
    _ = try directory.send(from: a, ExchangeControl())
    try world.make(a, ["c": [2]])
    _ = try directory.send(from: a, ExchangeControl())
    let report = try world.retrieve(other)
    #expect(try RemoteWorld.content(other) == RemoteWorld.content(a), "\(report.refused)")
  }

  @Test("a remote that lost objects is filled again by a store that has everything")
  func lost() throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 7)
    let shared = random.bytes(60_000)
    try world.make(a, ["a": shared])
    try world.send(a)
    let first = try #require(try world.objects.names.first)
    try world.retrieve(b)
    try world.make(b, ["copy": shared], removing: ["a"])
    try world.send(b)
    try world.retrieve(a)
    try world.make(a, ["c": [1]])
    try world.send(a)
    try world.objects.remove(first)
    world.clock.advance(hours: 30)
    let fresh = try world.store("fresh")
    let report = try world.retrieve(fresh)
    #expect(report.taken.isEmpty && !report.waiting.isEmpty)
    #expect(report.waiting.contains { $0.reason.contains("is not there") })
    // A has the versions of the lost bundle, and sends them anew at once.
    try world.make(a, ["d": [1]])
    try world.send(a)
    world.clock.advance(hours: 2)
    try world.send(b)
    try world.send(a)
    try world.retrieve(fresh)
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(a))
  }
}
