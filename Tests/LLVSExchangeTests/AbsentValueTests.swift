import LLVSCore
import Platform
import TestSupport
import Testing

@testable import LLVSExchange
@testable import StoreSupport

/// Versions whose bytes their sender has forgotten.
@Suite(.timeLimit(.minutes(1)))
struct AbsentValueTests {
  let place: ExchangePlace
  private let key = Value.ID("k")
  private let long = Value.ID("long")

  init() throws { place = try ExchangePlace() }

  private func text(_ index: Int, _ length: Int = 20_000) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(index + 1))
    return random.bytes(length)
  }

  /// Three versions; the first two are forgotten after `before`.
  private func makeForgetful(
    _ before: (Store) throws -> Void = { _ in }
  ) throws -> (store: Store, ids: [Version.ID]) {
    let store = try place.store("a")
    var ids: [Version.ID] = []
    for index in 0..<3 {
      ids.append(
        try store.makeVersion(
          basedOnPredecessor: ids.last,
          storing: [
            .insert(Value(id: key, data: text(index))),
            .insert(Value(id: long, data: text(index + 10, 200_000))),
            .insert(Value(id: Value.ID("short"), data: [UInt8(index)])),
          ]
        ).id)
    }
    try before(store)
    try store.forget(
      try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
    #expect(try isForgotten(key, at: ids[0], in: store))
    return (store, ids)
  }

  private func isForgotten(
    _ key: Value.ID, at id: Version.ID, in store: Store
  ) throws -> Bool {
    do throws(StoreError) {
      _ = try store.value(id: key, at: id)
      return false
    } catch {
      guard error.isForgotten else { throw error }
      return true
    }
  }

  @Test("a new replica gets every version, and the bytes of those that were kept")
  func fresh() throws {
    let (a, ids) = try makeForgetful()
    try FolderFormat.bundles.send(a, place.folder)
    let b = try place.store("b")
    let report = try FolderFormat.bundles.retrieve(into: b, place.folder)
    #expect(report.refused.isEmpty && report.waiting.isEmpty)
    for (index, id) in ids.enumerated() {
      #expect(try b.version(id)?.map.digest == a.version(id)?.map.digest)
      #expect(try b.value(id: Value.ID("short"), at: id)?.data == [UInt8(index)])
      for key in [key, long] {
        #expect(try isForgotten(key, at: id, in: b) == (index < 2))
      }
    }
    #expect(try b.value(id: long, at: ids[2])?.data == text(12, 200_000))
    let verified = try b.verify()
    #expect(verified.isSound && verified.forgotten == 4, "\(verified.damage)")
    #expect(try FolderFormat.bundles.verify(for: b, place.folder).refused.isEmpty)
    // The store continues from there, and another replica gets the same from it.
    let next = try b.makeVersion(
      basedOnPredecessor: ids[2], storing: [.insert(Value(id: key, data: text(0)))])
    #expect(try b.value(id: key, at: next.id)?.data == text(0))
    try b.forget(try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
    try FolderFormat.bundles.send(b, place.folder)
    try FolderFormat.bundles.retrieve(into: a, place.folder)
    #expect(try a.value(id: key, at: next.id)?.data == text(0))
    let folder = place.directory.file("other")
    try FileSystem.makeDirectory(folder)
    try FolderFormat.bundles.send(b, folder)
    let c = try place.store("c")
    try FolderFormat.bundles.retrieve(into: c, folder)
    #expect(try c.value(id: key, at: next.id)?.data == text(0))
    for store in [a, b, c] {
      let verified = try store.verify()
      #expect(verified.isSound, "\(verified.damage)")
    }
    // A value that is nowhere is not kept at a key that gets bytes.
    let entries = try [ids[1], next.id].map { id in
      try #require(try c.map(of: try c.version(id)).entry(at: key)).stored
    }
    #expect(entries[0].isAbsent)
    #expect(try !c.contents.isSound(entries[0], besides: entries[1]))
  }

  /// Returns true if a store has the bytes of all versions.
  private func hasAll(_ store: Store, _ ids: [Version.ID]) throws -> Bool {
    for (index, id) in ids.enumerated() {
      guard try !isForgotten(key, at: id, in: store), try !isForgotten(long, at: id, in: store),
        try store.value(id: key, at: id)?.data == text(index)
      else { return false }
    }
    return true
  }

  /// A store with the bytes of three versions, and one that has forgotten the first two.
  private func makeFullAndForgetful() throws -> (full: Store, forgetful: Store, ids: [Version.ID]) {
    let full = try place.store("full")
    let (a, ids) = try makeForgetful { a in _ = try full.retrieve(from: StoreSource(a)) }
    return (full, a, ids)
  }

  @Test("another store gets every version, and the bytes of those that were kept")
  func store() throws {
    let (a, ids) = try makeForgetful()
    let b = try place.store("b")
    let report = try b.retrieve(from: StoreSource(a))
    #expect(report.refused.isEmpty && report.taken.count == 3, "\(report.refused)")
    for (index, id) in ids.enumerated() {
      #expect(try b.version(id)?.map.digest == a.version(id)?.map.digest)
      for key in [key, long] {
        #expect(try isForgotten(key, at: id, in: b) == (index < 2))
      }
    }
    let verified = try b.verify()
    #expect(verified.isSound && verified.forgotten == 4, "\(verified.damage)")
    // The two agree, in both directions.
    for (store, other) in [(a, b), (b, a)] {
      let report = try store.check(StoreSource(other))
      #expect(report.refused.isEmpty && report.remoteIDs.count == 3, "\(report.refused)")
    }
  }

  @Test("a version that came without bytes, or took such a value, is listed as a forgotten one")
  func marked() throws {
    let (a, _) = try makeForgetful { a in
      // The value at `key` is that of the third version, at `long` another.
      let last = try #require(try a.version(VersionNumber(3)))
      _ = try a.makeVersion(
        basedOnPredecessor: last.id, storing: [.insert(Value(id: long, data: text(50, 200_000)))])
      let fourth = try #require(try a.version(VersionNumber(4)))
      _ = try a.makeVersion(
        basedOnPredecessor: fourth.id, storing: [.insert(Value(id: key, data: text(51)))])
    }
    try FolderFormat.bundles.send(a, place.folder)
    let (b, c, d) = (try place.store("b"), try place.store("c"), try place.store("d"))
    try FolderFormat.bundles.retrieve(into: b, place.folder)
    _ = try c.retrieve(from: StoreSource(a))
    _ = try d.retrieve(from: StoreSource(b))
    for store in [b, c, d] {
      // The fourth version has its own bytes at `long`, and at `key` those of the third, which are nowhere.
      let missing = try (1...5).filter { try store.isForgotten(VersionNumber($0)) }
      #expect(missing == [1, 2, 3, 4])
      #expect(try store.absentVersions().count == 4)
      #expect(try store.keptVersionsNewestFirst(before: nil, limit: 9).count == 1)
      #expect(try store.decision(forgetting: VersionNumber(1)) == nil)
      let report = try store.forget(
        try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
      #expect(report.forgotten == 4 && report.newlyForgotten == 0)
    }
    // What comes later takes the same values.
    let first = try #require(try a.version(VersionNumber(1)))
    let side = try a.makeVersion(
      basedOnPredecessor: first.id, storing: [.insert(Value(id: Value.ID("own"), data: text(60)))])
    let next = try a.makeVersion(
      basedOnPredecessor: try #require(try a.version(VersionNumber(5))).id,
      storing: [.insert(Value(id: Value.ID("own"), data: text(61)))])
    _ = try b.retrieve(from: StoreSource(a))
    #expect(try b.isForgotten(try #require(try b.version(side.id)).number))
    #expect(try !b.isForgotten(try #require(try b.version(next.id)).number))
    // A store that got all bytes has no such version.
    let full = try place.store("full")
    let e = try place.store("e")
    _ = try e.makeVersion(basedOnPredecessor: nil, inserting: [Value(id: key, data: text(0))])
    _ = try full.retrieve(from: StoreSource(e))
    #expect(try full.forgottenVersions().isEmpty)
  }

  @Test("a check finds no damage in versions that were sent without their bytes")
  func checkOfForgotten() throws {
    let (a, ids) = try makeForgetful()
    try FolderFormat.bundles.send(a, place.folder)
    for _ in 0..<2 {
      let report = try FolderFormat.bundles.verify(for: a, place.folder)
      #expect(report.refused.isEmpty && report.waiting.isEmpty)
      #expect(Set(report.remoteIDs) == Set(ids))
      // The same in a store that has read the bundles, not put them.
      try BundleRemote.forget(place.folder, in: a)
    }
    // A kept value that the bundle has no more is damage.
    let objects = place.directory.file("x/bundles")
    for name in try FileSystem.list(objects) { try FileSystem.unlink("\(objects)/\(name)") }
    #expect(try FolderFormat.bundles.verify(for: a, place.folder).remoteIDs.isEmpty)
  }

  @Test("a store takes short values that another one has forgotten from its own versions")
  func storeWithBytes() throws {
    let b = try place.store("b")
    _ = try b.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: Value.ID("own"), data: text(0))])
    let (a, ids) = try makeForgetful()
    _ = try b.retrieve(from: StoreSource(a))
    #expect(try b.value(id: key, at: ids[0])?.data == text(0))
    #expect(try isForgotten(key, at: ids[1], in: b))
  }

  @Test("a check finds no fault in a peer that has what this store has forgotten")
  func check() throws {
    let (full, a, _) = try makeFullAndForgetful()
    let report = try a.check(StoreSource(full))
    #expect(report.refused.isEmpty && report.remoteIDs.count == 3, "\(report.refused)")
    for format in FolderFormat.allCases {
      let folder = place.directory.file("of \(format)")
      try FileSystem.makeDirectory(folder)
      try format.send(full, folder)
      try format.retrieve(into: a, folder)
      let report = try format.verify(for: a, folder)
      #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(report.refused)")
      #expect(report.remoteIDs.count == 3, "\(format)")
    }
  }

  @Test(
    "a check names a version whose bytes a peer has lost, also if this store has forgotten them")
  func checkOfLoss() throws {
    let (full, a, ids) = try makeFullAndForgetful()
    let objects = place.directory.file("x/bundles")
    for count in 1...3 {
      let part = try place.store("part \(count)")
      _ = try part.retrieve(from: StoreSource(full, only: Array(ids.prefix(count))))
      try FolderFormat.bundles.send(part, place.folder)
    }
    let names = try FileSystem.list(objects).sorted()
    #expect(names.count == 3)
    try FolderFormat.bundles.retrieve(into: a, place.folder)
    let first = try #require(
      try names.first { name in try FileSystem.status("\(objects)/\(name)").size > 200_000 })
    try FileSystem.unlink("\(objects)/\(first)")
    #expect(try FolderFormat.bundles.verify(for: a, place.folder).remoteIDs.count < 3)
  }

  @Test("a full store adds the bytes that another one had forgotten when it sent the versions")
  func filled() throws {
    let (full, a, ids) = try makeFullAndForgetful()
    try FolderFormat.bundles.send(a, place.folder)
    #expect(try FolderFormat.bundles.verify(for: full, place.folder).remoteIDs.count == 0)
    let report = try FolderFormat.bundles.send(full, place.folder)
    #expect(report.sent.isEmpty && report.notes.count == 1, "\(report.notes)")
    #expect(try FolderFormat.bundles.verify(for: full, place.folder).remoteIDs.count == 3)
    let fresh = try place.store("fresh")
    try FolderFormat.bundles.retrieve(into: fresh, place.folder)
    #expect(try hasAll(fresh, ids))
    // Once is enough.
    for store in [full, a, fresh] {
      let names = try FileSystem.list(place.directory.file("x/bundles"))
      let report = try FolderFormat.bundles.send(store, place.folder)
      #expect(report.notes.isEmpty, "\(report.notes)")
      #expect(try FileSystem.list(place.directory.file("x/bundles")).count == names.count)
    }
  }

  @Test("a full store heals a remote that a forgetful one has repaired without bytes")
  func healed() throws {
    let full = try place.store("full")
    let (a, ids) = try makeForgetful { a in
      try FolderFormat.bundles.send(a, place.folder)
      try FolderFormat.bundles.retrieve(into: full, place.folder)
    }
    let objects = place.directory.file("x/bundles")
    for name in try FileSystem.list(objects) { try FileSystem.unlink("\(objects)/\(name)") }
    try BundleRemote.forget(place.folder, in: a)
    try FolderFormat.bundles.send(a, place.folder)
    try FolderFormat.bundles.retrieve(into: full, place.folder)
    try FolderFormat.bundles.send(full, place.folder)
    let fresh = try place.store("fresh")
    try FolderFormat.bundles.retrieve(into: fresh, place.folder)
    #expect(try hasAll(fresh, ids))
  }

  @Test("bytes that the sender has forgotten are taken from this store")
  func here() throws {
    let b = try place.store("b")
    let own = try b.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: Value.ID("own"), data: text(0))])
    let (a, ids) = try makeForgetful()
    try FolderFormat.bundles.send(a, place.folder)
    try FolderFormat.bundles.retrieve(into: b, place.folder)
    #expect(try b.value(id: key, at: ids[0])?.data == text(0))
    #expect(try isForgotten(key, at: ids[1], in: b))
    #expect(try b.value(id: Value.ID("own"), at: own.id)?.data == text(0))
  }

  @Test("a folder of the original's files gets no version without its bytes, and says so")
  func files() throws {
    let (a, ids) = try makeForgetful()
    let report = try FolderFormat.files.send(a, place.folder)
    #expect(report.sent.isEmpty && report.refused.map(\.id) == ids)
    #expect(report.refused[0].reason.contains("forgotten"), "\(report.refused)")
  }

  @Test("a remote that has bytes keeps them, however its bundles are combined later")
  func combined() throws {
    let world = try RemoteWorld()
    let remote = world.remote { $0.combining = CombiningRules(runLength: 4, goal: 1 << 18) }
    let a = try world.store("a")
    var ids: [Version.ID] = []
    func make(_ index: Int) throws {
      ids.append(
        try a.makeVersion(
          basedOnPredecessor: ids.last, storing: [.insert(Value(id: key, data: text(index)))]
        ).id)
      _ = try remote.send(from: a, ExchangeControl())
      world.clock.advance(hours: 20)
    }
    for index in 0..<3 { try make(index) }
    try a.forget(try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
    #expect(try isForgotten(key, at: ids[0], in: a))
    for index in 3..<30 { try make(index) }
    let b = try world.store("b")
    _ = try remote.retrieve(into: b, ExchangeControl())
    for (index, id) in ids.enumerated() {
      #expect(try b.value(id: key, at: id)?.data == text(index), "version \(index)")
    }
    #expect(try b.verify().isSound)
  }

  @Test("bundles go on being combined when their versions are forgotten here")
  func combinedForgotten() throws {
    let world = try RemoteWorld()
    let remote = world.remote { $0.combining = CombiningRules(runLength: 4, goal: 1 << 24) }
    let a = try world.store("a")
    var ids: [Version.ID] = []
    for index in 0..<24 {
      ids.append(
        try a.makeVersion(
          basedOnPredecessor: ids.last,
          storing: [
            .insert(Value(id: key, data: text(index))),
            .insert(Value(id: long, data: text(index + 100, 200_000))),
          ]
        ).id)
      // Some versions are forgotten before they are sent.
      if index < 2 { continue }
      if index > 2 { _ = try remote.send(from: a, ExchangeControl()) }
      try a.forget(try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
      world.clock.advance(hours: 60)
    }
    #expect(try isForgotten(long, at: ids[12], in: a))
    let bundles = try world.objects.names.count
    #expect(bundles < 15, "\(bundles)")
    let b = try world.store("b")
    _ = try remote.retrieve(into: b, ExchangeControl())
    for (index, id) in ids.enumerated() {
      for (key, bytes) in [(key, text(index)), (long, text(index + 100, 200_000))] {
        if index < 2 {
          #expect(try isForgotten(key, at: id, in: b))
        } else {
          #expect(try b.value(id: key, at: id)?.data == bytes, "version \(index)")
        }
      }
    }
    let verified = try remote.verify(for: b, ExchangeControl())
    #expect(verified.refused.isEmpty && verified.waiting.isEmpty, "\(verified.refused)")
  }

  @Test(
    "in random lives of stores that forget, a remote loses no bytes that it had", arguments: 1...8)
  func lives(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    let world = try RemoteWorld(tellsTimes: seed % 2 == 0)
    let remote = world.remote { $0.combining = CombiningRules(runLength: 3, goal: 1 << 17) }
    let stores = try ["a", "b", "c"].map { try world.store($0) }
    var texts: [[UInt8]] = []
    for _ in 0..<40 {
      let store = stores[pick(3)]
      _ = try remote.retrieve(into: store, ExchangeControl())
      for _ in 0..<pick(3) {
        var text = texts.isEmpty || pick(3) == 0 ? random.bytes(20_000) : texts[pick(texts.count)]
        text[pick(text.count)] ^= 1
        texts.append(text)
        try world.make(store, ["k\(pick(3))": text])
      }
      if pick(3) > 0 { _ = try remote.send(from: store, ExchangeControl()) }
      // What is at the remote may be forgotten here.
      if store !== stores[2], pick(2) == 0 {
        _ = try remote.send(from: store, ExchangeControl())
        try store.forget(try KeepPolicy("all:0s"), at: SystemClock.now() + 1_000_000_000)
      }
      world.clock.advance(hours: Int64(pick(40)))
    }
    for store in stores + stores {
      _ = try remote.retrieve(into: store, ExchangeControl())
      _ = try remote.send(from: store, ExchangeControl())
    }
    let fresh = try world.store("fresh")
    let report = try remote.retrieve(into: fresh, ExchangeControl())
    #expect(report.unreadable.isEmpty)
    #expect(try RemoteWorld.content(fresh) == RemoteWorld.content(stores[2]))
    let verified = try fresh.verify()
    #expect(verified.isSound && verified.forgotten == 0, "\(verified.forgotten), seed \(seed)")
    for store in stores {
      let report = try store.verify()
      #expect(report.isSound, "\(report.damage)")
    }
    #expect(try stores[..<2].contains { try $0.verify().forgotten > 0 }, "seed \(seed)")
  }
}
