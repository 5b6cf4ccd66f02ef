import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Records that are read many at a time (`RecordStore+Ahead`).
@Suite(.timeLimit(.minutes(1)))
struct RecordAheadTests {
  let directory: TemporaryDirectory
  let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(path: directory.file("s"), create: true)
  }

  private func append(_ samples: [[UInt8]]) throws -> [Location] {
    try samples.map { bytes in try bytes.withUnsafeBytes { try store.records.append(.chunk, $0) } }
  }

  private func ahead(_ places: [Location], _ kind: RecordKind = .chunk) -> [Location: [UInt8]] {
    var found: [Location: [UInt8]] = [:]
    store.records.readAhead(kind, at: places) { found[$0] = $1 }
    return found
  }

  @Test(
    "records near each other are read as each by itself; what is damaged or elsewhere is left out")
  func reading() throws {
    var random = SeededRandom(seed: 5)
    store.records.beginWriting()
    defer { store.records.endWriting() }
    let samples = (0..<60).map { index in
      index % 3 == 0
        ? [UInt8](repeating: UInt8(index), count: 500 + index) : random.bytes(100 + index)
    }
    let near = try append(samples)
    // Nothing to read it with.
    _ = try append([random.bytes(60_000)])
    let alone = try append([[1, 2, 3]])
    try store.records.sync()
    let buffered = try append(samples)
    var places = near + alone + buffered
    places.append(Location(segment: 1, offset: .max - 5, length: 100))
    places.append(Location(segment: 1, offset: near[3].offset, length: 0))
    places.append(Location(segment: 1, offset: near[3].offset + 1, length: near[3].length))
    places.append(Location(segment: 77, offset: 40, length: 100))
    places.append(Location(segment: 0, offset: 40, length: 100))
    places.shuffle(using: &random)
    var found = ahead(places)
    #expect(Set(found.keys) == Set(near))
    for (place, sample) in zip(near, samples) { #expect(found[place] == sample) }
    for (place, sample) in zip(buffered, samples) {
      #expect(try store.records.read(.chunk, at: place) == sample)
    }
    #expect(ahead(near, .mapNode).isEmpty)
    #expect(ahead(Array(near.prefix(3))).isEmpty)
    let file = try File(directory.file("s/segments/00000001.seg"), .readWrite)
    let at = near[7].offset + UInt64(near[7].length) - 1
    try file.write([try file.read(1, at: at)[0] ^ 1], at: at)
    found = ahead(near)
    #expect(Set(found.keys) == Set(near).subtracting([near[7]]))
    try file.truncate(to: near[50].offset + 3)
    #expect(Set(ahead(near).keys) == Set(near.prefix(50)).subtracting([near[7]]))
  }

  @Test("what differs between versions is read with few calls, and a damaged value is an error")
  func changes() throws {
    var random = SeededRandom(seed: 6)
    let values = (0..<2000).map { index in
      Value(id: Value.ID("dir/\(10_000 + index)"), data: random.bytes(200))
    }
    let first = try store.makeVersion(basedOnPredecessor: nil, inserting: values)
    var last = first
    var expected: [Value.ID: [UInt8]] = [:]
    for _ in 0..<200 {
      let id = values[Int.random(in: 0..<values.count, using: &random)].id
      let data = random.bytes(200)
      expected[id] = data
      last = try store.makeVersion(
        basedOnPredecessor: last.id, updating: [Value(id: id, data: data)])
    }
    for _ in 0..<2 {
      let token = Faults.arm(
        Faults.Plan(
          calls: [.read], below: directory.file("s/segments"), nth: .max,
          action: .fail(Errno.inputOutput)))
      let changes = try store.valueChanges(madeBetween: first.id, and: last.id)
      let reads = Faults.disarm(token)
      #expect(reads < expected.count / 4, "\(reads) reads for \(expected.count) values")
      var found: [Value.ID: [UInt8]] = [:]
      for change in changes {
        guard case .update(let value) = change else { continue }
        found[value.id] = value.data
      }
      #expect(found == expected)
      #expect(changes.map(\.key) == expected.keys.sorted())
    }
    let damaged = try #require(expected.keys.min())
    let record = try #require(try store.version(last.id))
    let entry = try #require(try store.map(of: record).entry(at: damaged))
    guard case .chunk(let place) = entry.stored.content else {
      Issue.record("a value of 200 bytes is a chunk")
      return
    }
    let file = try File(directory.file("s/segments/00000001.seg"), .readWrite)
    try file.write([try file.read(1, at: place.offset + 50)[0] ^ 1], at: place.offset + 50)
    let again = try Store.open(path: directory.file("s"), mode: .reader)
    #expect(throws: StoreError.self) {
      try again.valueChanges(madeBetween: first.id, and: last.id)
    }
  }
}
