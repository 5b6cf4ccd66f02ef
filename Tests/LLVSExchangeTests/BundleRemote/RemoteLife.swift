import ObjectStoreSupport
import ObjectStores
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// Random stores that meet at a remote whose objects are harmed again and again.
final class RemoteLife {
  private let seed: UInt64
  private var random: SeededRandom
  private let world: RemoteWorld
  private let isSealed: Bool
  private let isDirectory: Bool
  private var stores: [Store] = []
  private var values: [[UInt8]] = []
  private var latest: [String: [UInt8]] = [:]
  private var fresh = 0
  /// The objects as they were at a time before.
  private var snapshot: [String: [UInt8]] = [:]
  /// True once bytes were changed in a way that shows only when they are read.
  private var isRotten = false
  /// The stores that have read everything since then.
  private var checkers: Set<String> = []

  init(
    _ seed: UInt64, isSealed: Bool, isDirectory: Bool, _ objects: any ObjectStore
  ) throws {
    self.seed = seed
    random = SeededRandom(seed: seed)
    world = try RemoteWorld(tellsTimes: seed % 2 == 0, over: objects)
    (self.isSealed, self.isDirectory) = (isSealed, isDirectory)
    // Two that write, and one that only reads.
    for name in ["a", "b", "c"] { stores.append(try store(name)) }
  }

  private func store(_ name: String) throws -> Store {
    let store = try world.store(name)
    guard isSealed else { return store }
    let ring = KeyRing(world.objects, peer: "away", place: "memory", store: store)
    if stores.isEmpty {
      try ring.create(
        label: "a", passphrase: [1, 2], strength: KeyFile.Strength(passes: 1, kibibytes: 8192))
    } else {
      _ = try ring.unlock(passphrase: [1, 2])
    }
    return store
  }

  private func remote(_ store: Store) throws -> BundleRemote {
    let keys =
      isSealed ? try KeyRing.held(peer: "away", place: "memory", store: store) : nil
    return world.remote { options in
      options.keys = keys
      options.combining = CombiningRules(runLength: 5, goal: 1 << 18)
      if isDirectory { options.removal = .directory }
      if !isDirectory, seed % 3 == 0 { options.send.leastLength = 64 << 10 }
    }
  }

  private func sync(_ store: Store) throws {
    let remote = try remote(store)
    _ = try remote.retrieve(into: store, ExchangeControl())
    _ = try remote.send(from: store, ExchangeControl())
  }

  private func pick<Element>(_ elements: [Element]) throws -> Element {
    try elements.randomElement(using: &random).unwrapped
  }

  private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  private func value(at key: String) throws -> [UInt8] {
    let value = try newValue(after: latest[key])
    latest[key] = value
    return value
  }

  private func newValue(after before: [UInt8]?) throws -> [UInt8] {
    if chance(50), var value = before {
      for _ in 0..<3 { value[Int.random(in: 0..<value.count, using: &random)] ^= 1 }
      return value
    }
    if chance(40), let known = values.randomElement(using: &random) {
      return chance(50) ? known : known + random.bytes(10)
    }
    let new = random.bytes(try pick([50, 300, 3000, 40_000, 90_000, 700_000]))
    values.append(new)
    return new
  }

  private func work() throws {
    for _ in 0..<Int.random(in: 2...6, using: &random) {
      let store = stores[Int.random(in: 0..<2, using: &random)]
      if chance(70) { _ = try remote(store).retrieve(into: store, ExchangeControl()) }
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let key = "k\(Int.random(in: 0..<5, using: &random))"
        try world.make(store, [key: try value(at: key)])
      }
      if chance(80) { try sync(store) }
      if chance(20) { snapshot = try objects() }
      world.clock.advance(hours: Int64.random(in: 0...30, using: &random))
    }
    // Each has everything, and has seen it.
    for store in stores + stores + stores { try sync(store) }
  }

  private func objects() throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for name in try world.objects.names { found[name] = try world.objects.bytes(name) }
    return found
  }

  /// Harms some objects.
  private func harm() throws {
    let before = try objects()
    var isSilent = false
    if chance(15) {
      for name in before.keys where snapshot[name] == nil { try world.objects.remove(name) }
      for (name, bytes) in snapshot where before[name] == nil {
        try world.objects.replace(name, by: bytes)
        isSilent = true
      }
    }
    let share = try pick([10, 30, 80])
    for name in before.keys.sorted() where chance(share) {
      guard var bytes = try? world.objects.bytes(name) else { continue }
      switch try pick(RemoteRepairTests.Harm.allCases) {
      case .remove: try world.objects.remove(name)
      case .cut: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
      case .lengthen: bytes.append(7)
      case .flip:
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 4
        isSilent = true
      case .swap:
        bytes = try pick(before.sorted { $0.key < $1.key }.map(\.value))
        isSilent = true
      case .roll:
        // It may have been damaged then.
        snapshot[name].map { bytes = $0 }
        isSilent = true
      }
      if try world.objects.names.contains(name) { try world.objects.replace(name, by: bytes) }
    }
    guard isSilent else { return }
    isRotten = true
    checkers = []
  }

  private func verify(_ store: Store) throws -> ExchangeReport {
    checkers.insert(store.replicaID)
    return try remote(store).verify(for: store, ExchangeControl())
  }

  private func checkClone(of store: Store, _ what: String) throws {
    fresh += 1
    let clone = try self.store("fresh\(fresh)")
    let report = try remote(clone).retrieve(into: clone, ExchangeControl())
    let (found, wanted) = (try RemoteWorld.content(clone), try RemoteWorld.content(store))
    #expect(
      found == wanted,
      "\(found.count) of \(wanted.count), seed \(seed), \(what): \((report.refused + report.waiting).map(\.reason))"
    )
    #expect(report.unreadable.isEmpty, "seed \(seed), \(what): \(report.refused + report.waiting)")
    let hiding = (report.refused + report.waiting).filter(\.hidesVersions)
    #expect(hiding.isEmpty, "seed \(seed), \(what): \(hiding)")
    #expect(try clone.verify().isSound)
  }

  func run() throws {
    for round in 0..<4 {
      try work()
      try harm()
      // One that wrote, one that did not, or one that was never there.
      var healer = try pick(stores)
      if chance(25) {
        let source = StoreSource(healer)
        healer = try store("healer\(round)")
        _ = try healer.retrieve(from: source)
      }
      func forgetSometimes() throws {
        guard chance(20) else { return }
        try BundleRemote.forget("memory", in: healer)
      }
      try forgetSometimes()
      if isRotten, !checkers.contains(healer.replicaID) { _ = try verify(healer) }
      try forgetSometimes()
      // A fresh clone may look at what is left of it.
      if chance(30) { try sync(try store("early\(round)")) }
      try sync(healer)
      try checkClone(of: healer, "round \(round)")
      for store in stores + stores { try sync(store) }
      let checked = try verify(healer)
      #expect(
        try Set(checked.remoteIDs) == Set(RemoteWorld.content(healer).keys),
        "seed \(seed), round \(round)")
    }
    // The writers replace what was damaged of theirs, and remove it. A removal may wait for another writer's bundles.
    for store in stores + stores {
      _ = try verify(store)
      try sync(store)
    }
    let checked = try verify(stores[2])
    // A damaged bundle stays if its writer is gone.
    let writers = stores.map(\.replicaID)
    let left = checked.refused.filter { fault in
      writers.contains { fault.id.rawValue.hasPrefix($0) }
    }
    #expect(left.isEmpty, "seed \(seed): \(left)")
    try checkClone(of: stores[0], "the end")
  }
}
