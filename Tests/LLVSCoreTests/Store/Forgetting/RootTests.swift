import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// What is never forgotten: for each kind of root a value that nothing else needs.
@Suite(.timeLimit(.minutes(1)))
struct RootTests {
  let directory: TemporaryDirectory
  private let key = Value.ID("d/k")

  init() throws { directory = try TemporaryDirectory() }

  /// A store with a value that only one kind of root keeps.
  private struct Sample {
    var store: Store
    var policy = "all:1d"
    var version: Version.ID
    var isMetadata = false
    var outside = OutsideRoots()
  }

  private static let text: [UInt8] = {
    var random = SeededRandom(seed: 99)
    return random.bytes(20_000)
  }()

  private func value(_ seed: UInt64) -> Value {
    var random = SeededRandom(seed: seed)
    return Value(id: key, data: random.bytes(20_000))
  }

  private var sample: Value { Value(id: key, data: Self.text) }

  /// Makes a version without a writer, as the original does.
  private func addWithoutWriter(
    _ value: Value, on version: Version.ID, in store: Store
  ) throws -> Version.ID {
    try store.write { (transaction) throws(StoreError) in
      let base = try transaction.version(version)
      let number = try transaction.reserveVersion()
      let entry = Entry(
        key: value.id, kind: .regular, attributes: Attributes(mode: 0o644),
        stored: try transaction.write(value.data), storedVersion: number,
        revision: try transaction.allotRevisions())
      return try transaction.add(
        NewVersion(
          number: number, id: .random(), first: base?.number, timestamp: base?.timestamp ?? 0,
          map: try store.map(of: base).applying(edits: [.put(entry)]).root)
      ).id
    }
  }

  private func make(_ kind: RootKind) throws -> Sample {
    let store = try Store.open(path: directory.file("\(kind)"), create: true)
    func add(_ value: Value, on version: Version.ID? = nil) throws -> Version.ID {
      try store.makeVersion(basedOnPredecessor: version, storing: [.insert(value)]).id
    }
    switch kind {
    case .policy:
      let version = try add(sample)
      _ = try add(value(1), on: version)
      return Sample(store: store, policy: "all:2000d", version: version)
    case .heads:
      let root = try add(value(1))
      let version = try addWithoutWriter(sample, on: root, in: store)
      _ = try add(value(2), on: root)
      return Sample(store: store, version: version)
    case .tags:
      let version = try add(sample)
      let record = try #require(try store.version(version))
      _ = try add(value(1), on: version)
      try store.write { (transaction) throws(StoreError) in
        _ = try transaction.tag(record, as: "first", author: nil)
      }
      return Sample(store: store, version: version)
    case .mergeBases:
      let version = try add(sample)
      _ = try add(value(1), on: version)
      _ = try add(value(2), on: version)
      return Sample(store: store, version: version)
    case .conflicts:
      let root = try add(value(1))
      let version = try addWithoutWriter(sample, on: root, in: store)
      _ = try add(value(2), on: root)
      let merge = try store.write { (transaction) throws(StoreError) in
        try transaction.mergeHeads(ofLine: nil, live: nil).outcome
      }
      let merged = try #require(try store.version(merge)).id
      _ = try add(Value(id: Value.ID("other"), data: [1]), on: merged)
      return Sample(store: store, version: version)
    case .writers:
      let version = try add(sample)
      _ = try store.renewReplica()
      _ = try add(value(1), on: version)
      return Sample(store: store, version: version)
    case .headLog:
      let version = try add(sample)
      let last = try add(value(1), on: version)
      let records = [
        try #require(try store.version(version)), try #require(try store.version(last)),
      ]
      try store.catalog.write { (database) throws(StoreError) in
        for (index, record) in records.enumerated() {
          try database.appendHead(
            HeadLogEntry(
              sequence: 0, time: ForgetTests.later() - Int64(1000 - index),
              version: record.number, map: record.map, reason: .cut))
        }
      }
      return Sample(store: store, version: version)
    case .documents: return try makeDocument(store)
    case .metadata:
      let metadata: Version.Metadata = [
        Version.MetadataKey("note"): Version.MetadataValue(
          String(repeating: "metadata ", count: 900))
      ]
      let first = try store.makeVersion(
        basedOnPredecessor: nil, inserting: [value(1)], metadata: metadata)
      let record = try #require(try store.version(first.id))
      #expect(record.packedMetadata.first == 1)
      // The same bytes are a value of a version that is forgotten.
      let bytes = Version.encode(try store.metadata(of: record))
      let second = try add(Value(id: key, data: bytes), on: first.id)
      _ = try add(value(2), on: second)
      return Sample(store: store, version: first.id, isMetadata: true)
    case .outside:
      let version = try add(sample)
      _ = try add(value(1), on: version)
      let record = try #require(try store.version(version))
      let entry = try #require(try store.map(of: record).entry(at: key))
      return Sample(
        store: store, version: version, outside: OutsideRoots(contents: [entry.stored]))
    }
  }

  /// A merge of a document's two values shows one; the other is not replaced and no file has it.
  private func makeDocument(_ store: Store) throws -> Sample {
    let authors = try [1, 2].map { byte in
      try #require(DocumentAuthor(bytes: [UInt8](repeating: byte, count: 16)))
    }
    func metadata(_ layer: Int) throws -> Version.Metadata {
      var metadata: Version.Metadata = [:]
      try DocumentRecord(
        directory: DocumentDirectory(path: Array("d".utf8)), layer: layer,
        application: DocumentApplication(id: [97], major: 1, minor: 0),
        authors: authors.map { DocumentRecord.Author(id: $0, usn: 1, name: []) },
        items: [
          DocumentRecord.Item(
            key: key,
            values: authors.map {
              DocumentValue(
                dot: DocumentDot(author: $0, usn: 1), holder: nil, isRemoval: false, type: 1,
                time: 7)
            })
        ]
      ).add(to: &metadata)
      return metadata
    }
    // The layers of values are versions on a line: the last one that the tree shows is the first value.
    let version = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [sample], metadata: try metadata(1))
    let second = try store.makeVersion(
      basedOnPredecessor: version.id, updating: [value(1)], metadata: try metadata(0))
    _ = try store.makeVersion(
      basedOnPredecessor: second.id, inserting: [Value(id: Value.ID("other"), data: [1])])
    return Sample(store: store, version: version.id)
  }

  @Test(
    "a value that only one kind of root keeps is read after forgetting, and after a power failure at any call",
    arguments: RootKind.allCases)
  func each(kind: RootKind) throws {
    DatabaseFaults.install()
    let sample = try make(kind)
    let policy = try KeepPolicy(sample.policy)
    let store = sample.store
    let number = try #require(try store.version(sample.version)).number
    // Without the kind it would be lost.
    let others = try store.roots(
      policy, at: ForgetTests.later(), RootKind.allCases.filter { $0 != kind },
      outside: sample.outside)
    #expect(!others.versions.contains(number))
    #expect(others.contents.isEmpty)
    // Something to forget.
    for seed in [7, 8] as [UInt64] {
      let head = try #require(try store.mostRecentHead)
      try store.makeVersion(
        basedOnPredecessor: head.id,
        storing: [.insert(Value(id: Value.ID("extra"), data: value(seed).data))])
    }
    let images = try TemporaryDirectory()
    let count = Counter()
    let disk = try PowerDisk(store.path) { disk, call, _ in
      guard [.sync, .punch].contains(call) else { return }
      try? disk.image(at: images.file("\(count.next())"), .nothing)
    }
    try store.forget(
      policy, at: ForgetTests.later(), besides: { () throws(StoreError) in sample.outside })
    disk.stop()
    // The policy of this kind keeps all versions.
    #expect(count.value > 2 || kind == .policy)
    for path in [store.path] + (0..<count.value).map({ images.file("\($0 + 1)") }) {
      try expectKept(
        sample, in: Store.open(path: path, mode: path == store.path ? .reader : .writer))
    }
  }

  private func expectKept(_ sample: Sample, in other: Store) throws {
    if sample.isMetadata {
      let record = try #require(try other.version(sample.version))
      #expect(try other.metadata(of: record).count > 1)
      return
    }
    #expect(try ForgetTests.read(key, at: sample.version, in: other) == .bytes(Self.text))
    #expect(try other.verify().isSound)
  }

  @Test("the base of a patch that is kept is kept with its bytes, though no version needs it")
  func base() throws {
    var random = SeededRandom(seed: 8)
    let store = try Store.open(path: directory.file("s"), create: true)
    let whole = random.bytes(60_000)
    let first = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: key, data: whole)])
    var changed = whole
    changed[30_000] ^= 1
    let second = try store.makeVersion(
      basedOnPredecessor: first.id, updating: [Value(id: key, data: changed)])
    let patches = try FoundRecord.all(in: store.path).filter { !$0.bases.isEmpty }
    #expect(patches.count == 1)
    try store.forget(try ForgetTests.least(), at: ForgetTests.later())
    #expect(try ForgetTests.read(key, at: second.id, in: store) == .bytes(changed))
    // When the patch goes, its base goes too.
    try store.makeVersion(basedOnPredecessor: second.id, removing: [key])
    let report = try store.forget(try ForgetTests.least(), at: ForgetTests.later())
    #expect(report.goneBytes > 60_000)
    #expect(try ForgetTests.read(key, at: first.id, in: store) == .forgotten)
    #expect(try ForgetTests.read(key, at: second.id, in: store) == .forgotten)
  }

  @Test("a tag that was removed keeps nothing")
  func removedTag() throws {
    let store = try Store.open(path: directory.file("s"), create: true)
    let first = try store.makeVersion(basedOnPredecessor: nil, inserting: [sample])
    try store.makeVersion(basedOnPredecessor: first.id, storing: [.insert(value(1))])
    let record = try #require(try store.version(first.id))
    try store.write { (transaction) throws(StoreError) in
      _ = try transaction.tag(record, as: "t", author: nil)
    }
    try store.forget(try ForgetTests.least(), at: ForgetTests.later())
    #expect(try ForgetTests.read(key, at: first.id, in: store) == .bytes(Self.text))
    _ = try store.write { (transaction) throws(StoreError) in
      try transaction.removeTag("t", author: nil)
    }
    try store.forget(try ForgetTests.least(), at: ForgetTests.later())
    #expect(try ForgetTests.read(key, at: first.id, in: store) == .forgotten)
  }
}
