import LLVSCore
import Platform
import TestSupport
import Testing

@testable import LLVSExchange
@testable import StoreSupport

/// What one store makes, every other takes.
@Suite("What the library makes, peers take", .timeLimit(.minutes(3)))
struct AcceptedVersionsTests {
  /// One random program that uses a store.
  private final class Play {
    let store: Store
    var random: SeededRandom
    var made: [Version.ID] = []

    init(_ store: Store, seed: UInt64) {
      self.store = store
      random = SeededRandom(seed: seed)
    }

    func chance(_ among: Int) -> Bool { Int.random(in: 0..<among, using: &random) == 0 }

    func pick<Element>(_ items: [Element]) -> Element {
      items[Int.random(in: 0..<items.count, using: &random)]
    }

    static let keys = [
      "", ".", "/", "a", "a/b", "a/b/c", "b", "b", "link", "device", "named", "d/x", "d",
      "e\u{301}", "\u{e9}", "nul\0nul", "%llvs%61", String(repeating: "k", count: 65_535),
      String(repeating: "k", count: 65_536), "\u{1F469}\u{200D}\u{1F680}", "line\nline",
    ]

    func key() -> Value.ID { Value.ID(pick(Self.keys)) }

    func id() -> Version.ID {
      guard !chance(24), !made.isEmpty else { return Version.ID("nowhere") }
      // Mostly what is new, so that lines grow.
      return chance(2) ? pick(made) : pick(Array(made.suffix(4)))
    }

    func change(at key: Value.ID) -> Value.Change {
      let value = Value(id: key, data: random.bytes(pick([0, 1, 5, 5, 200])))
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1: return .insert(value)
      case 2, 3: return .update(value)
      case 4: return .remove(key)
      case 5: return .preserveRemoval(key)
      default:
        // What some version holds there.
        let held = try? store.valueReference(id: key, at: id())
        return .preserve(held ?? Value.Reference(valueId: key, storedVersionId: id()))
      }
    }

    func changes() -> [Value.Change] {
      (0..<Int.random(in: 0..<4, using: &random)).map { _ in change(at: key()) }
    }

    func metadata() throws -> Version.Metadata {
      guard chance(3) else { return [:] }
      // A program that says of a version what was said of another.
      if chance(4), let version = try store.version(identifiedBy: id()) { return version.metadata }
      let names = [
        "", "llvs.attributes", "llvs.attributes.1", "llvs.attributes.+1", "llvs.attributes.x",
        "llvs.directories", "llvs.digest", "llvs.settled", "llvs.dropped", "llvs.author",
        "llvs.writer",
        "llvs.message", "__llvs_branch", "__llvs_branch", "e\u{301}", "\u{e9}",
        String(repeating: "m", count: 4096), String(repeating: "m", count: 4097),
      ]
      var metadata: Version.Metadata = [:]
      for _ in 0..<Int.random(in: 1..<4, using: &random) {
        let text = pick([
          "", "side", "side", "-", "llvs.tag/t", "a\0b", "\u{1F469}", "e\u{301}",
          String(repeating: "n", count: 9000),
        ])
        let value: Version.MetadataValue
        switch Int.random(in: 0..<3, using: &random) {
        case 0: value = Version.MetadataValue(data: random.bytes(pick([0, 3, 40])))
        case 1: value = Version.MetadataValue(text)
        default: value = Version.MetadataValue(keys: [Key(text), Key("a")])
        }
        metadata[Version.MetadataKey(pick(names))] = value
      }
      return metadata
    }

    /// Answers anything at all, as a program's arbiter may.
    private func decide(_ merge: Merge, in store: Store) -> [Value.Change] {
      var changes: [Value.Change] = []
      for (id, fork) in merge.forksByValueIdentifier.sorted(by: { $0.key < $1.key })
      where fork.isConflicting || chance(4) {
        changes.append(change(at: id))
      }
      if chance(3) { changes.append(change(at: key())) }
      return changes
    }

    func step() throws {
      switch Int.random(in: 0..<12, using: &random) {
      case 0: note(try store.makeVersion(basedOnPredecessor: nil, storing: changes()))
      case 1, 2, 3:
        note(
          try store.makeVersion(
            basedOnPredecessor: id(), storing: changes(), metadata: metadata()))
      case 4, 5:
        note(
          try store.makeVersion(
            basedOn: Version.Predecessors(idOfFirst: id(), idOfSecond: id()),
            storing: changes(), metadata: metadata()))
      case 6:
        note(try store.merge(id(), with: id(), metadata: metadata(), by: decide))
      case 7:
        note(try store.merge(id(), with: id(), by: OriginalArbiter.mostRecentChange))
      case 8:
        note(
          try store.makeVersion(
            settling: [key(), key()], basedOnPredecessor: id(), metadata: metadata()))
      case 9:
        let made = try store.write { (transaction) throws(StoreError) in
          try transaction.mergeHeads(ofLine: nil, live: nil).made.map(\.record.id)
        }
        self.made += made
      case 10:
        guard let record = try store.version(id()) else { return }
        let tag = pick(["", "t", "\u{e9}"])
        _ = try store.write { (transaction) throws(StoreError) in
          try transaction.tag(record, as: tag, author: nil)
        }
      default: try mount()
      }
    }

    func note(_ version: Version) {
      made.append(version.id)
    }

    /// A version as mounts make them: with attributes, directories and values that are no files.
    private func mount() throws {
      let base = try store.version(id())
      let bytes = random.bytes(5)
      let places: [(String, EntryKind)] = [
        ("a", .regular), ("a/b", .regular), ("b", .symlink), ("d", .directory),
        ("d/x", .regular), ("device", .characterDevice), ("link", .symlink), ("named", .fifo),
      ]
      let chosen = places.filter { _ in chance(2) }
      let attributes = chosen.map { (_, kind) in
        Attributes(
          mode: UInt32.random(in: 0...0o777, using: &random),
          mtime: chance(2) ? .init(seconds: 5, nanoseconds: 6) : nil,
          device: kind == .characterDevice ? .init(major: 1, minor: 3) : nil,
          linkID: chance(3) ? [UInt8](repeating: 7, count: 16) : nil,
          extended: chance(2) ? [.init(name: Array("user.x".utf8), value: random.bytes(2))] : [])
      }
      let storing = chosen.map { _ in chance(2) }
      let id = try store.write { (transaction) throws(StoreError) in
        let map = store.map(base?.map ?? .empty)
        let number = try transaction.reserveVersion()
        var edits: [MapEdit] = []
        for (index, (name, kind)) in chosen.enumerated() {
          let old = try map.entry(at: Key(name), directory: kind == .directory)
          var stored = StoredContent(length: 0, digest: .ofNothing, content: .none)
          if kind == .regular || kind == .symlink { stored = try transaction.write(bytes) }
          var entry = Entry(
            key: Key(name), kind: kind, attributes: attributes[index], stored: stored,
            storedVersion: number, revision: try transaction.allotRevisions())
          if let old, old.kind == kind, !storing[index] {
            (entry.stored, entry.storedVersion) = (old.stored, old.storedVersion)
          }
          edits.append(.put(entry))
        }
        edits.sort(by: MapEdit.precedes)
        return try transaction.add(
          AuthoredVersion(
            number: number, first: base?.number, base: map, map: try map.applying(edits: edits))
        ).id
      }
      made.append(id)
    }
  }

  @Test(
    "a program that says anything to the library makes what every peer takes",
    arguments: FleetPlay.seeds("LLVS_TEST_PROGRAMS", otherwise: 4))
  func anything(seed: UInt64) throws {
    let place = try ExchangePlace()
    let play = Play(try place.store("a"), seed: seed)
    let formats = FolderFormat.allCases
    let peers = try formats.map { try place.store("\($0)") }
    for format in formats { try FileSystem.makeDirectory("\(place.folder)/\(format)") }
    var refusals = 0
    for step in 0..<240 {
      do {
        try play.step()
      } catch let error as StoreError {
        if case .corrupt = error { Issue.record("\(error), seed \(seed), step \(step)") }
        refusals += 1
      }
      guard step % 12 == 11 else { continue }
      for (format, peer) in zip(formats, peers) {
        let folder = "\(place.folder)/\(format)"
        let sent = try format.send(play.store, folder)
        let report = try format.retrieve(into: peer, folder)
        try #require(
          sent.refused.isEmpty && report.refused.isEmpty && report.waiting.isEmpty,
          "\(sent.refused) \(report.refused) \(report.waiting), seed \(seed), step \(step)")
        #expect(Set(report.taken) == Set(sent.sent), "seed \(seed), step \(step)")
      }
    }
    #expect(refusals < 200)
    #expect(play.made.count > 100)
    for peer in peers { #expect(try peer.verify().isSound) }
  }

  private func expectInvalid(
    _ store: Store, _ body: () throws -> Void, at location: SourceLocation = #_sourceLocation
  ) throws {
    let before = store.lastNumber
    let error = #expect(throws: StoreError.self, sourceLocation: location) { try body() }
    guard case .invalid? = error else {
      Issue.record("\(String(describing: error))", sourceLocation: location)
      return
    }
    #expect(store.lastNumber == before, sourceLocation: location)
  }

  @Test("what no peer would take is not made")
  func refused() throws {
    let place = try ExchangePlace()
    let store = try place.store("s")
    let root = try store.makeVersion(
      basedOnPredecessor: nil, storing: [.insert(Value(id: Value.ID("a"), data: [1]))]
    ).id
    let sides = try (2..<4).map { (byte: UInt8) in
      try store.makeVersion(
        basedOnPredecessor: root, storing: [.insert(Value(id: Value.ID("b"), data: [byte]))]
      ).id
    }
    try expectInvalid(store) {
      try store.makeVersion(
        basedOn: Version.Predecessors(idOfFirst: root, idOfSecond: root), storing: [])
    }
    var many: Version.Metadata = [:]
    for index in 0..<4096 { many[Version.MetadataKey("m\(index)")] = .init(data: [UInt8]()) }
    let odd: [Version.Metadata] = [
      [Version.MetadataKey("llvs.attributes"): .init(data: [1, 2, 255] as [UInt8])],
      [Version.MetadataKey("llvs.attributes.7"): .init(data: [UInt8]())],
      [Version.MetadataKey("llvs.directories"): .init("text")],
      [Version.MetadataKey(String(repeating: "m", count: 4097)): .init("1")],
      [Version.MetadataKey("long"): .init(data: [UInt8](repeating: 1, count: 128 << 20))],
      many,
    ]
    for metadata in odd {
      try expectInvalid(store) {
        try store.makeVersion(basedOnPredecessor: root, storing: [], metadata: metadata)
      }
      try expectInvalid(store) {
        try store.merge(
          sides[0], with: sides[1], metadata: metadata, by: OriginalArbiter.mostRecentChange)
      }
    }
    // Beside the digest and the writer.
    for key in ["m0", "m1"] { many[Version.MetadataKey(key)] = nil }
    try store.makeVersion(basedOnPredecessor: root, storing: [], metadata: many)
  }
}
