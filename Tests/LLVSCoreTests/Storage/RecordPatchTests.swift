import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Chunks and nodes of values that are written as what differs from older ones (`RecordStore+Patches`).
@Suite(.timeLimit(.minutes(1)))
struct RecordPatchTests {
  let directory: TemporaryDirectory
  private let key = Value.ID("x.db")

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.file("s") }

  private func records() throws -> [FoundRecord] { try FoundRecord.all(in: path) }

  /// A store with versions of one value; each changes some pages of 4 KiB.
  private func make(
    pages: Int, versions: Int, changed: Int, from random: inout SeededRandom
  ) throws -> (ids: [Version.ID], texts: [[UInt8]]) {
    let store = try Store.open(path: path, create: true)
    var bytes = random.bytes(pages * 4096)
    var texts = [bytes]
    var ids = [
      try store.makeVersion(
        basedOnPredecessor: nil, inserting: [Value(id: key, data: bytes)]
      ).id
    ]
    for _ in 0..<versions {
      for _ in 0..<changed {
        let start = Int.random(in: 0..<pages, using: &random) * 4096
        bytes.replaceSubrange(start..<(start + 4096), with: random.bytes(4096))
      }
      ids.append(
        try store.makeVersion(
          basedOnPredecessor: ids[ids.count - 1], updating: [Value(id: key, data: bytes)]
        ).id)
      texts.append(bytes)
    }
    return (ids, texts)
  }

  @Test("A changed page of a long value takes little more than the page")
  func small() throws {
    var random = SeededRandom(seed: 5)
    let (ids, texts) = try make(pages: 2048, versions: 8, changed: 4, from: &random)
    let found = try records()
    let whole = Set(found.filter { !$0.header.isDelta }.map(\.location))
    let patches = found.filter { !$0.bases.isEmpty }
    #expect(patches.contains { $0.header.kind == .valueNode })
    for patch in patches {
      for base in patch.bases {
        #expect(whole.contains(base) && base.offset < patch.location.offset)
      }
    }
    let taken = found.reduce(0) { $0 + Int($1.location.length) } - texts[0].count
    let changed = 8 * 4 * 4096
    #expect(taken < changed * 3 / 2, "\(taken) bytes for \(changed)")
    let store = try Store.open(path: path)
    for (id, text) in zip(ids, texts) {
      #expect(try store.value(id: key, at: id)?.data == text)
    }
    #expect(try store.verify().isSound)
  }

  @Test("pages that do not compress are stored once each, however often their chunk changes")
  func pages() throws {
    var random = SeededRandom(seed: 6)
    let (ids, texts) = try make(pages: 16, versions: 60, changed: 1, from: &random)
    let found = try records()
    #expect(found.filter { $0.header.kind == .chunk && $0.location.length > 60_000 }.count == 1)
    #expect(found.contains { $0.bases.count > 8 })
    let taken = found.reduce(0) { $0 + Int($1.location.length) } - texts[0].count
    #expect(taken < 60 * 4096 * 5 / 4, "\(taken) bytes for \(60 * 4096)")
    let store = try Store.open(path: path)
    for (id, text) in zip(ids, texts) {
      #expect(try store.value(id: key, at: id)?.data == text)
    }
    #expect(try store.verify().isSound)
  }

  /// The bytes of a file whose base a program opened long ago.
  private struct OpenFile: ContentSource {
    let bytes: BytesSource
    let base: StoredContent?
    var length: UInt64 { bytes.length }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) {
      try bytes.read(at: offset, into: buffer)
    }
  }

  @Test("a file that a program keeps open is stored against its newest version")
  func openFile() throws {
    var random = SeededRandom(seed: 8)
    let store = try Store.open(path: path, create: true)
    let old = try store.write { (transaction) throws(StoreError) in
      try transaction.write(random.bytes(1_000_000))
    }
    var bytes = random.bytes(1_000_000)
    var prior = try store.write { (transaction) throws(StoreError) in
      try transaction.write(bytes)
    }
    let before = try records().count
    for round in 0..<5 {
      let start = round * 190_000
      bytes.replaceSubrange(start..<(start + 1000), with: random.bytes(1000))
      let source = OpenFile(bytes: BytesSource(bytes), base: old)
      prior = try store.write { [prior] (transaction) throws(StoreError) in
        try transaction.write(source, after: prior)
      }
    }
    let written = try records().dropFirst(before).reduce(0) { $0 + Int($1.location.length) }
    #expect(written < 20_000, "\(written)")
  }

  @Test("Whatever is done to values, each version is read as it was made", arguments: 1...6)
  func random(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var texts: [(id: Version.ID, bytes: [UInt8])] = []
    var bytes = random.bytes(Int.random(in: 0...400_000, using: &random))
    for version in 0..<40 {
      // Each process has segments of its own.
      let store = try Store.open(path: path, create: version == 0)
      for _ in 0..<3 {
        let at = Int.random(in: 0...bytes.count, using: &random)
        let length = Int.random(in: 0...20_000, using: &random)
        let end = min(bytes.count, at + length)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.removeSubrange(at..<end)
        case 1: bytes.insert(contentsOf: random.bytes(length), at: at)
        case 2: bytes.replaceSubrange(at..<end, with: [UInt8](repeating: 0, count: end - at))
        case 3: bytes += [UInt8](repeating: 0, count: Int.random(in: 0...200_000, using: &random))
        case 4: bytes.removeLast(bytes.count / 4)
        default: bytes.replaceSubrange(at..<end, with: random.bytes(end - at))
        }
        let value = Value(id: key, data: bytes)
        let id =
          try texts.last.map {
            try store.makeVersion(basedOnPredecessor: $0.id, updating: [value]).id
          } ?? store.makeVersion(basedOnPredecessor: nil, inserting: [value]).id
        texts.append((id, bytes))
      }
      if version % 8 == 7 {
        for text in texts { #expect(try store.value(id: key, at: text.id)?.data == text.bytes) }
        #expect(try store.verify().isSound)
      }
    }
  }

  @Test("Damage of a patch is repaired in place, and damage of a base names what rests on it")
  func damage() throws {
    var random = SeededRandom(seed: 7)
    let (ids, texts) = try make(pages: 16, versions: 1, changed: 1, from: &random)
    let patch = try #require(try records().first { !$0.bases.isEmpty })
    // The last base is the piece with the changed page.
    #expect(patch.bases.count == 2)
    let places = [(patch.location, false), (patch.bases[1], false), (patch.bases[0], true)]
    for (place, isBase) in places {
      let segment = "\(path)/segments/\(SegmentFormat.name(of: place.segment))"
      let file = try File(segment, .readWrite)
      let offset = place.offset + UInt64(place.length) - 9
      let old = try file.read(1, at: offset)
      try file.write([old[0] ^ 4], at: offset)
      do {
        let store = try Store.open(path: path)
        let damage = try store.verify().damage
        let isRestedOn = place != patch.location
        #expect(damage.contains { $0.contains("rests on another") } == isRestedOn, "\(damage)")
        #expect(throws: StoreError.self) { try store.value(id: key, at: ids[1]) }
        // The bytes come again, as from another store.
        let again = Value(id: Value.ID("again\(place.offset)"), data: texts[isBase ? 0 : 1])
        try store.makeVersion(basedOnPredecessor: ids[1], inserting: [again])
      }
      #expect(try file.read(1, at: offset) == old)
      #expect(try Store.open(path: path).verify().isSound)
    }
  }

  @Test("A patch on a patch, on itself, on too many or on later records is refused")
  func badBases() throws {
    var random = SeededRandom(seed: 9)
    _ = try make(pages: 16, versions: 1, changed: 1, from: &random)
    let store = try Store.open(path: path)
    let patch = try #require(try records().first { !$0.bases.isEmpty })
    let base = patch.bases[0]
    let frame = patch.payload.dropFirst(1 + patch.bases.count * SegmentFormat.baseLength)
    store.records.beginWriting()
    defer { store.records.endWriting() }
    func append(_ count: UInt8, on bases: [Location]) throws -> Location {
      var payload = [count]
      for base in bases { payload.append(base) }
      payload += frame
      return try payload.withUnsafeBytes { raw in
        try store.records.append(
          RecordHeader(
            kind: .chunk, flags: patch.header.flags, payload: raw,
            rawLength: patch.header.rawLength), raw)
      }
    }
    let copy = try append(UInt8(patch.bases.count), on: patch.bases)
    #expect(
      try store.records.read(.chunk, at: copy) == store.records.read(.chunk, at: patch.location))
    let later = Location(
      segment: copy.segment, offset: copy.offset + 1_048_576, length: copy.length)
    let node = try #require(try records().first { $0.header.kind == .mapNode }).location
    for (count, bases) in [
      (1, [patch.location]), (1, [copy]), (1, [later]), (1, [node]), (0, []), (2, [base]),
      (33, [Location](repeating: base, count: 33)), (255, [base]),
    ] as [(UInt8, [Location])] {
      let place = try append(count, on: bases)
      #expect(throws: StoreError.self) { try store.records.read(.chunk, at: place) }
    }
  }
}
