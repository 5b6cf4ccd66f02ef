import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Nodes that are written as what differs from another (`RecordStore+Deltas`).
@Suite(.timeLimit(.minutes(1)))
struct RecordDeltaTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var segment: String { directory.file("s/segments/00000001.seg") }

  private func key(_ index: Int) -> Value.ID { Value.ID("dir/file\(1000 + index)") }

  /// A version of 400 values, then versions of one changed value each.
  private func fill(_ store: Store, versions: Int) throws -> [Version.ID] {
    var random = SeededRandom(seed: 3)
    var ids = [
      try store.makeVersion(
        basedOnPredecessor: nil,
        inserting: (0..<400).map { Value(id: key($0), data: random.bytes(40)) }
      ).id
    ]
    for version in 0..<versions {
      ids.append(
        try store.makeVersion(
          basedOnPredecessor: ids[version],
          updating: [Value(id: key(version * 7 % 400), data: Array("now \(version)".utf8))]
        ).id)
    }
    return ids
  }

  private func records() throws -> [FoundRecord] { try FoundRecord.all(in: directory.file("s")) }

  @Test("versions of one change take little, and each is read as it was made")
  func small() throws {
    let ids: [Version.ID]
    do {
      let store = try Store.open(path: directory.file("s"), create: true)
      let first = try fill(store, versions: 0)
      #expect(first.count == 1)
    }
    let alone = try FileSystem.status(segment).size
    try FileSystem.removeTree(directory.file("s"))
    do { ids = try fill(try Store.open(path: directory.file("s"), create: true), versions: 100) }
    let found = try records()
    let nodes = found.filter { $0.header.kind == .mapNode }
    let deltas = nodes.filter(\.header.isDelta)
    #expect(deltas.count > nodes.count / 2, "\(deltas.count) of \(nodes.count)")
    let taken = found.reduce(UInt64(0)) { $0 + UInt64($1.location.length) }
    // Whole nodes would take some 9,000 bytes a version.
    #expect(taken < alone + 100 * 3500, "\(taken) bytes after \(alone)")
    // One that rests on another rests on one that is whole.
    let whole = Set(nodes.filter { !$0.header.isDelta }.map(\.location))
    for delta in deltas {
      let base = try #require(delta.payload.parsedLocation)
      #expect(whole.contains(base) && base.offset < delta.location.offset)
    }
    let store = try Store.open(path: directory.file("s"))
    for (version, id) in ids.dropFirst().enumerated() {
      let changed = try store.value(id: key(version * 7 % 400), at: id)
      #expect(changed?.data == Array("now \(version)".utf8))
      // The next value to be changed is as it was.
      #expect(try store.value(id: key((version + 1) * 7 % 400), at: id)?.data.count == 40)
    }
    #expect(try store.verify().isSound)
  }

  @Test("damage of a node names what rests on it, and other bytes are never given")
  func damagedBase() throws {
    let ids: [Version.ID]
    do { ids = try fill(try Store.open(path: directory.file("s"), create: true), versions: 12) }
    let deltas = try records().filter(\.header.isDelta)
    let delta = try #require(deltas.last)
    let base = try #require(delta.payload.parsedLocation)
    let file = try File(segment, .readWrite)
    let offset = base.offset + UInt64(SegmentFormat.recordHeaderSize) + 9
    let old = try file.read(1, at: offset)
    try file.write([old[0] ^ 4], at: offset)
    let store = try Store.open(path: directory.file("s"))
    #expect {
      _ = try store.records.read(.mapNode, at: delta.location)
    } throws: { error in
      guard case StoreError.corrupt(let reason) = error else { return false }
      return reason.contains("offset \(delta.location.offset)")
        && reason.contains("rests on another") && reason.contains("offset \(base.offset)")
    }
    let damage = try store.verify().damage
    #expect(damage.contains { $0.contains("rests on another") })
    var failures = 0
    for (version, id) in ids.dropFirst().enumerated() {
      do {
        let value = try store.value(id: key(version * 7 % 400), at: id)
        #expect(value?.data == Array("now \(version)".utf8))
      } catch {
        failures += 1
      }
    }
    #expect(failures > 0)
    // Nothing else was wrong.
    try file.write(old, at: offset)
    #expect(try store.verify().isSound)
  }

  @Test("a difference from a difference, from itself or from what comes later is refused")
  func badBases() throws {
    let store = try Store.open(path: directory.file("s"), create: true)
    _ = try fill(store, versions: 12)
    try store.records.sync()
    let delta = try #require(try records().filter(\.header.isDelta).last)
    store.records.beginWriting()
    defer { store.records.endWriting() }
    func append(restingOn base: Location) throws -> Location {
      var payload: [UInt8] = []
      payload.append(base)
      payload += delta.payload.dropFirst(SegmentFormat.baseLength)
      return try payload.withUnsafeBytes { raw in
        try store.records.append(
          RecordHeader(
            kind: .mapNode, flags: delta.header.flags, payload: raw,
            rawLength: delta.header.rawLength), raw)
      }
    }
    let good = try #require(delta.payload.parsedLocation)
    let copy = try append(restingOn: good)
    #expect(
      try store.records.read(.mapNode, at: copy)
        == store.records.read(.mapNode, at: delta.location))
    let later = Location(segment: 1, offset: copy.offset + 1_048_576, length: copy.length)
    for base in [delta.location, copy, later] {
      let place = try append(restingOn: base)
      #expect(throws: StoreError.self) { try store.records.read(.mapNode, at: place) }
    }
  }

  @Test("a segment of formats 1 to 4 is read, of format 8 refused by name")
  func formats() throws {
    let value = Value(id: key(1), data: [1, 2, 3])
    let id: Version.ID
    do {
      let store = try Store.open(path: directory.file("s"), create: true)
      id = try store.makeVersion(basedOnPredecessor: nil, inserting: [value]).id
    }
    let file = try File(segment, .readWrite)
    let header = try file.read(SegmentFormat.headerSize, at: 0)
    #expect(header[7] == SegmentFormat.version)
    func become(_ format: UInt8) throws {
      let other = SegmentFormat.header(
        number: 1, store: Array(header[16..<32]), version: format)
      try file.write(other, at: 0)
    }
    for format: UInt8 in [1, 2, 3, 4] {
      try become(format)
      let store = try Store.open(path: directory.file("s"))
      #expect(try store.value(id: key(1), at: id)?.data == value.data)
    }
    try become(8)
    #expect {
      _ = try Store.open(path: directory.file("s")).value(id: key(1), at: id)
    } throws: { error in
      guard case StoreError.fromTheFuture(let reason) = error else { return false }
      return reason.contains("format 8")
    }
    try become(0)
    #expect {
      _ = try Store.open(path: directory.file("s")).value(id: key(1), at: id)
    } throws: { error in
      if case StoreError.corrupt = error { true } else { false }
    }
  }
}

extension [UInt8] {
  /// The location that the payload of a difference begins with.
  fileprivate var parsedLocation: Location? {
    Array(prefix(SegmentFormat.baseLength)).parsed { $0.location() }
  }
}
