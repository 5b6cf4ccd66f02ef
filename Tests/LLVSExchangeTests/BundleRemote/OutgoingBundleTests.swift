import Foundation
import ObjectStoreSupport
import ObjectStores
import Platform
import Synchronization
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange

/// The files that a store writes for itself while it sends, and what is told meanwhile.
@Suite("Bundles on their way to a remote", .timeLimit(.minutes(2)))
struct OutgoingBundleTests {
  private let world: RemoteWorld

  init() throws { world = try RemoteWorld() }

  private func outgoing(_ store: Store) throws -> [String] {
    try FileSystem.list("\(store.path)/outgoing")
  }

  @Test(
    "a file of the send's own that cannot be written fails the send, and no version is called damaged",
    arguments: [(SystemCall.open, 1), (.write, 1), (.write, 2)])
  func ownFiles(_ call: SystemCall, _ nth: Int) throws {
    let (a, b) = (try world.store("a"), try world.store("b"))
    var random = SeededRandom(seed: 3)
    try world.make(a, ["k": random.bytes(500_000)])
    let token = Faults.arm(
      Faults.Plan(
        calls: [call], below: "\(a.path)/outgoing", nth: nth, action: .fail(Errno.inputOutput)))
    let failed = #expect(throws: StoreError.self) { try world.send(a) }
    #expect(Faults.disarm(token) > 0)
    guard case .system(let error)? = failed else {
      Issue.record("\(String(describing: failed))")
      return
    }
    #expect(error.errno == Errno.inputOutput && error.subject.contains("/outgoing/"))
    #expect(try world.objects.names.isEmpty)
    // The next send has all of it.
    let report = try world.send(a)
    #expect(report.sent.count == 1 && report.refused.isEmpty, "\(report.refused)")
    try world.retrieve(b)
    #expect(try RemoteWorld.content(b) == RemoteWorld.content(a))
  }

  @Test("a send goes on if another send removes the name of its file first")
  func nameRemovedByAnotherSend() throws {
    let a = try world.store("a")
    try world.make(a, ["k": [1]])
    let token = Faults.arm(
      Faults.Plan(
        calls: [.unlink], below: "\(a.path)/outgoing", nth: 1, action: .fail(Errno.noEntry)))
    let report = try world.send(a)
    #expect(Faults.disarm(token) > 0)
    #expect(report.sent.count == 1)
  }

  @Test("what is damaged in the store is still told of the version alone")
  func damage() throws {
    var random = SeededRandom(seed: 4)
    let version = try world.make(try world.store("a"), ["k": random.bytes(50_000)])
    // A store that was just opened has nothing of it in memory.
    let a = try world.store("a")
    let token = Faults.arm(
      Faults.Plan(calls: [.read], below: "\(a.path)/segments", action: .fail(Errno.inputOutput)))
    let report = try? world.send(a)
    #expect(Faults.disarm(token) > 0)
    #expect(report?.sent.isEmpty == true && report?.refused.map(\.id) == [version.id])
  }

  @Test("a file of a send has no name, and what a killed one left is removed")
  func names() throws {
    let a = try world.store("a")
    try world.make(a, ["k": [1]])
    try FileSystem.makeDirectory("\(a.path)/outgoing")
    try FileSystem.replace("\(a.path)/outgoing/7.bundle", with: [1, 2, 3])
    let seen = Mutex<[[String]]>([])
    let objects = HookedStore(world.objects) {
      let names = (try? FileSystem.list("\(a.path)/outgoing")) ?? ["nothing"]
      seen.withLock { $0.append(names) }
    }
    _ = try BundleRemote(objects, world.remote().options).send(from: a, ExchangeControl())
    #expect(seen.withLock { $0 } == [[]])
    #expect(try outgoing(a).isEmpty)
  }

  @Test(
    "a send to another remote while one is under way disturbs neither, and numbers are given once")
  func twoRemotes() throws {
    let a = try world.store("a")
    var random = SeededRandom(seed: 5)
    for index in 0..<3 { try world.make(a, ["k\(index)": random.bytes(300_000)]) }
    let other = try RemoteWorld()
    let sends = Mutex(0)
    let objects = HookedStore(world.objects) {
      guard
        sends.withLock({
          $0 += 1; return $0 == 1
        })
      else { return }
      var options = other.remote().options
      options.place = "another"
      options.combining = CombiningRules(runLength: 100, goal: 1 << 19)
      let report = try? BundleRemote(other.objects, options).send(from: a, ExchangeControl())
      #expect(report?.sent.count == 3)
    }
    var options = world.remote().options
    options.combining = CombiningRules(runLength: 100, goal: 1 << 19)
    let report = try BundleRemote(objects, options).send(from: a, ExchangeControl())
    #expect(report.sent.count == 3 && sends.withLock { $0 } > 1)
    for (index, place) in [world, other].enumerated() {
      let fresh = try world.store("fresh\(index)")
      try place.retrieve(fresh)
      #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(a))
    }
    let names = try world.objects.names + other.objects.names
    let sequences = try names.map { try BundleName($0).unwrapped.sequence }
    #expect(sequences.count > 2 && Set(sequences).count == sequences.count, "\(sequences)")
  }

  @Test("the next bundle is written while one is on its way, and bytes on their way go once")
  func overlapping() throws {
    let a = try world.store("a")
    var random = SeededRandom(seed: 6)
    let shared = random.bytes(400_000)
    // The first three fill a bundle.
    try world.make(a, ["one": shared])
    for key in ["two", "three", "four"] { try world.make(a, [key: random.bytes(400_000)]) }
    try world.make(a, ["five": shared + [1]])
    // A send reports before the first version and after each.
    let reports = Monitor(0)
    let isAhead = Mutex<Bool?>(nil)
    let objects = HookedStore(world.objects) {
      // The first PUT is not answered before the fourth version is in the next bundle.
      guard isAhead.withLock({ $0 }) == nil else { return }
      let found = reports.wait(nanoseconds: 60_000_000_000) { $0 >= 5 ? true : nil }
      isAhead.withLock { $0 = found == true }
    }
    let control = ExchangeControl(isCancelled: { false }) { progress in
      guard progress.phase == .sending else { return }
      reports.withLock { $0 += 1 }
      reports.broadcast()
    }
    var options = world.remote().options
    options.combining = CombiningRules(runLength: 100, goal: 1 << 20)
    let report = try BundleRemote(objects, options).send(from: a, control)
    #expect(report.sent.count == 5 && isAhead.withLock { $0 } == true)
    #expect(world.objects.counts.put < 1_800_000, "\(world.objects.counts.put)")
    let fresh = try world.store("fresh")
    try world.retrieve(fresh)
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(a))
  }

  @Test("progress is told before the first bundle is written")
  func progress() throws {
    let a = try world.store("a")
    try world.make(a, ["k": [1]])
    try world.make(a, ["k": [2]])
    let told = Mutex<[ExchangeControl.Progress]>([])
    let atFirst = Mutex<ExchangeControl.Progress?>(nil)
    let control = ExchangeControl(isCancelled: {
      // The first question after the sending began comes before anything is written.
      let last = told.withLock { $0.last }
      atFirst.withLock { if $0 == nil, last?.phase == .sending { $0 = last } }
      return false
    }) { progress in told.withLock { $0.append(progress) } }
    _ = try world.remote().send(from: a, control)
    #expect(atFirst.withLock { $0 }?.done == 0)
    #expect(atFirst.withLock { $0 }?.total == 2)
    #expect(told.withLock { $0.last }?.done == 2)
  }
}

/// An object store that calls a closure before each PUT.
final class HookedStore: ObjectStore {
  private let base: any ObjectStore
  private let beforePut: @Sendable () -> Void

  init(_ base: any ObjectStore, beforePut: @escaping @Sendable () -> Void) {
    self.base = base
    self.beforePut = beforePut
  }

  var capabilities: StoreCapabilities { base.capabilities }

  func prepare(_ folders: [String]) throws(RemoteError) { try base.prepare(folders) }

  func list(
    _ prefix: ObjectPrefix, after: ObjectName?, page: ListPage.Next?
  ) throws(RemoteError) -> ListPage {
    try base.list(prefix, after: after, page: page)
  }

  func get(
    _ name: ObjectName, range: Range<UInt64>?, into sink: ObjectSink
  ) throws(RemoteError) -> UInt64 {
    try base.get(name, range: range, into: sink)
  }

  func put(_ name: ObjectName, _ body: ObjectBody) throws(RemoteError) {
    beforePut()
    try base.put(name, body)
  }

  func delete(_ name: ObjectName) throws(RemoteError) { try base.delete(name) }

  func move(_ name: ObjectName, to target: ObjectName) throws(RemoteError) {
    try base.move(name, to: target)
  }
}
