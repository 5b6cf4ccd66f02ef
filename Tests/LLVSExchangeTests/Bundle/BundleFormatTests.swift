import Foundation
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// The bytes of bundles: what is frozen, what is read, and what is refused.
@Suite("The format of bundles", .timeLimit(.minutes(3)))
struct BundleFormatTests {
  private let directory: TemporaryDirectory
  private var scratch: String { directory.path }

  init() throws { directory = try TemporaryDirectory() }

  /// The directory of the project's sources.
  private static let root = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
    url.deletingLastPathComponent()
  }.path

  private static let sevens = [UInt8](repeating: 7, count: 129)

  /// The bundle of the page's test vector.
  private func vector() throws -> BundleMade {
    let kept = SequenceRuns([1, 3])
    return try BundleMade(
      scratch: scratch, stays: [BundleClaim(writer: "w", upTo: 3, kept: kept)]
    ) { writer in
      let item = BundleItem(.chunk, Digest.of(Self.sevens))
      let number = try writer.add(item, Self.sevens)
      var version = BundleMade.version("root")
      version.metadata[Version.MetadataKey("m")] = .init(data: [0x31])
      let changes: [OutlineChange] = [
        .insert(Key("a"), .item(number, length: 129)), .insert(Key("b"), .inline([8])),
      ]
      try writer.add(
        version, contentDigest: nil,
        changes: try BundleMade.changes(changes, scratch: scratch))
    }
  }

  @Test("the vector of docs/formats.md is read, and holds what the page says")
  func vectorIsRead() throws {
    let page = try String(
      contentsOfFile: Self.root + "/Sources/llvs/llvs.docc/formats.md", encoding: .utf8)
    let section = try #require(page.components(separatedBy: "### Test vector\n").last)
    let text = try #require(section.components(separatedBy: "```").dropFirst().first)
    let digits = text.filter(\.isHexDigit)
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { at in
      let start = digits.index(digits.startIndex, offsetBy: at)
      return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)
    }
    let name = BundleName(
      writer: "w", sequence: 3, length: UInt64(bytes.count), hash: Digest.of(bytes))
    let made = try vector()
    let reader = try BundleReader(name, BundleInMemory(bytes: bytes), cache: FrameCache())
    let ours = try made.reader()
    #expect(reader.directory.stays == ours.directory.stays)
    let table = try reader.table()
    #expect(try reader.item(0, in: table) == Self.sevens)
    let found = try PageBundle(bytes, named: name.text)
    let written = try PageBundle(made.bytes, named: made.name.text)
    for bundle in [found, written] {
      #expect(bundle.items.map(\.bytes) == [Self.sevens])
      #expect(bundle.claims == [.init(writer: "w", upTo: 3, kept: [1, 3])])
      let version = try #require(bundle.versions.first)
      #expect(version.id == Array("root".utf8) && version.metadata == [[0x6D]: [0x31]])
      #expect(version.time == 0x3FF0_0000_0000_0000 && version.size == 0)
      #expect(
        version.changes == [
          .init(kind: 1, key: [0x61], value: .item(0, 129)),
          .init(kind: 1, key: [0x62], value: .inline([8])),
        ])
      #expect(bundle.needs.isEmpty && bundle.from.isEmpty)
    }
    // The bytes of the vector itself, not packed.
    #expect(bytes.count == 12 + 129 + 36 + 35 + 92 + 48)
  }

  @Test("a bundle is read by the page: items of all kinds, ids, values and claims")
  func byThePage() throws {
    var random = SeededRandom(seed: 11)
    let texts = (0..<400).map { [UInt8](repeating: UInt8($0 % 250), count: 200 + $0) }
    let large = (0..<4).map { _ in random.bytes(40_000) }
    let need = BundleNeed(writer: "other", sequence: 9, hashStart: 77)
    let uuid = "0123ABCD-0000-4000-8000-00000000FFFF"
    let absent = Digest.of(random.bytes(9))
    let made = try BundleMade(
      scratch: scratch,
      stays: [
        BundleClaim(writer: "w", upTo: 3, kept: SequenceRuns([0, 1, 3])),
        BundleClaim(writer: "lost", upTo: 40, kept: SequenceRuns()),
      ], from: SequenceRuns([0, 2])
    ) { writer in
      var changes: [OutlineChange] = []
      for (index, bytes) in (texts + large).enumerated() {
        let number = try writer.add(BundleItem(.chunk, Digest.of(bytes)), bytes)
        #expect(number == index)
        changes.append(
          .insert(Key("k\(index)"), .item(number, length: UInt64(bytes.count))))
      }
      try writer.add(
        BundleMade.version("root"), contentDigest: absent,
        changes: try BundleMade.changes(changes, scratch: scratch))
      let place = writer.number(ofNeed: need)
      try writer.add(
        BundleMade.version(uuid, after: ["root", "far"], 2), contentDigest: nil,
        changes: try BundleMade.changes(
          [
            .update(Key("x"), .leftOut(absent, length: 70_000, need: place)),
            .update(Key("y"), .forgotten(absent, length: 5)), .remove(Key("z")),
            .preserve(Key("p"), Version.ID(uuid)), .preserveRemoval(Key("q")),
          ], scratch: scratch))
      try writer.add(entry: [200, 1, 2, 3])
    }
    let page = try PageBundle(made.bytes, named: made.name.text)
    #expect(page.items.map(\.bytes) == texts + large)
    #expect(page.versions.map(\.changes.count) == [404, 5])
    #expect(page.versions[0].contentDigest == absent.bytes)
    #expect(page.versions[1].predecessors.map(\.distance) == [1, 0])
    #expect(page.versions[1].predecessors[1].id == Array("far".utf8))
    #expect(page.versions[1].changes[0].value == .leftOut(absent.bytes, 70_000, 1))
    #expect(page.needs.map(\.writer) == ["other"] && page.needs.map(\.sequence) == [9])
    #expect(page.claims.map(\.kept) == [[0, 1, 3], []])
    #expect(page.from == [0, 2] && page.others == [[200, 1, 2, 3]])
    // And by the program itself.
    let reader = try made.reader()
    #expect(try reader.readAll() > 160_000)
    let entries = try reader.entries()
    #expect(entries.map(\.type) == [0, 0, 200])
    let description = try reader.description(of: entries[1]) { $0 == 1 ? entries[0].id : nil }
    #expect(description.version == BundleMade.version(uuid, after: ["root", "far"], 2))
    #expect(description.contentDigest == nil)
    // Short items stand together, long ones alone.
    #expect(reader.directory.content.filter { $0.items == 1 }.count == 4)
    #expect(reader.directory.content.count == 5)
  }

  @Test("long outlines and tables take several frames, and a damaged one is found")
  func manyFrames() throws {
    let keys = (0..<36_000).map { "a rather long name of a key, so that frames are filled/\($0)" }
    let made = try BundleMade(scratch: scratch) { writer in
      for index in 0..<36_000 {
        let bytes = withUnsafeBytes(of: index) { Array($0) }
        _ = try writer.add(BundleItem(.chunk, Digest.of(bytes)), bytes)
      }
      for part in 0..<3 {
        let changes = keys[(part * 12_000)..<((part + 1) * 12_000)].enumerated().map {
          OutlineChange.insert(Key($1), .item(part * 12_000 + $0, length: 8))
        }
        try writer.add(
          BundleMade.version("v\(part)", after: part == 0 ? [] : ["v\(part - 1)"]),
          contentDigest: nil, changes: try BundleMade.changes(changes, scratch: scratch))
      }
    }
    let reader = try made.reader()
    #expect(reader.directory.outline.count > 1 && reader.directory.table.count > 1)
    #expect(try reader.readAll() == 36_000 + 288_000 + 36_000)
    let page = try PageBundle(made.bytes, named: made.name.text)
    #expect(page.versions.flatMap(\.changes).map(\.key) == keys.map { Array($0.utf8) })
    // A bit of a frame behind the first.
    var bytes = made.bytes
    bytes[Int(reader.suffix.lowerBound) + reader.directory.outline[0].stands + 9] ^= 1
    let damaged = try BundleReader(
      made.name, BundleInMemory(bytes: bytes), cache: FrameCache())
    #expect(throws: StoreError.self) { try damaged.readAll() }
  }

  @Test("every flipped bit of a bundle is refused, or changes nothing that is read")
  func flippedBits() throws {
    let made = try vector()
    let whole = try made.reader()
    let count = try whole.readAll()
    for bit in 0..<(made.bytes.count * 8) {
      var bytes = made.bytes
      bytes[bit / 8] ^= UInt8(1 << (bit % 8))
      do {
        let reader = try BundleReader(
          made.name, BundleInMemory(bytes: bytes), cache: FrameCache())
        #expect(try reader.readAll() == count)
        #expect(reader.directory == whole.directory, "bit \(bit)")
        // A bit of the head, which only the hash in the name covers, or one of a frame that zstd
        // does not look at, or the one that makes the end that of format 2: what is read is the same.
        let isEarlier = BundleFormat.ending(bytes.suffix(8))?.format == 2
        #expect(bit / 8 < Int(reader.suffix.lowerBound) || isEarlier, "bit \(bit)")
      } catch let error as StoreError {
        switch error {
        case .invalid, .fromTheFuture: break
        default: Issue.record("bit \(bit): \(error)")
        }
      }
    }
  }

  @Test("a bundle that is cut short anywhere is refused")
  func cutShort() throws {
    let made = try vector()
    for length in 0..<made.bytes.count {
      let bytes = Array(made.bytes[..<length])
      let name = BundleName(
        writer: "w", sequence: 3, length: UInt64(length), hash: Digest.of(bytes))
      #expect(throws: StoreError.self) {
        try BundleReader(name, BundleInMemory(bytes: bytes), cache: FrameCache()).readAll()
      }
    }
  }

  @Test("a bundle under another writer's name or sequence is refused")
  func otherName() throws {
    let made = try vector()
    for (writer, sequence) in [("x", UInt64(3)), ("w", 4)] {
      let name = BundleName(
        writer: writer, sequence: sequence, length: made.name.length, hash: made.name.hash)
      #expect(throws: StoreError.self) {
        try BundleReader(name, BundleInMemory(bytes: made.bytes), cache: FrameCache())
      }
    }
  }

  @Test("a writer takes no bytes that are not those of their digest")
  func wrongBytes() throws {
    #expect(throws: StoreError.self) {
      try BundleMade(scratch: scratch) { writer in
        _ = try writer.add(BundleItem(.chunk, Digest.of([1])), [2])
      }
    }
  }

  @Test("runs are read as they were written, whatever numbers they hold")
  func runs() throws {
    var random = SeededRandom(seed: 3)
    for round in 0..<300 {
      let numbers = Set(
        (0..<Int.random(in: 0..<40, using: &random)).map { _ in
          UInt64.random(in: 0..<(round % 3 == 0 ? 60 : SequenceRuns.greatest), using: &random)
        })
      let runs = SequenceRuns(numbers)
      var bytes: [UInt8] = []
      runs.encode(to: &bytes)
      let read = bytes.withUnsafeBytes { raw -> SequenceRuns? in
        var reader = ByteReader(raw)
        let runs = SequenceRuns(&reader, upTo: SequenceRuns.greatest)
        return reader.remaining == 0 ? runs : nil
      }
      #expect(read == runs)
      for _ in 0..<20 {
        let number = UInt64.random(in: 0..<70, using: &random)
        #expect(runs.contains(number) == numbers.contains(number))
      }
      let other = Set((0..<20).map { _ in UInt64.random(in: 0..<70, using: &random) })
      #expect(runs.union(SequenceRuns(other)) == SequenceRuns(numbers.union(other)))
      #expect(runs.union(SequenceRuns(other)).union(runs) == SequenceRuns(numbers.union(other)))
      #expect((runs.union(SequenceRuns(other)) == runs) == numbers.isSuperset(of: other))
    }
    // Numbers beyond the bound, a run of nothing, and runs that touch.
    for bytes in [[1, 5, 7], [1, 1, 0], [2, 0, 1, 0, 1], [3, 0, 1]] as [[UInt8]] {
      let read = bytes.withUnsafeBytes { raw -> SequenceRuns? in
        var reader = ByteReader(raw)
        return SequenceRuns(&reader, upTo: 10)
      }
      #expect(read == nil)
    }
  }

  @Test("a bundle's name is read only as it is written, with zeros up to ten digits of its number")
  func names() throws {
    let hash = Digest.of([1])
    for sequence in [0, 7, 9_999_999_999, 10_000_000_000, SequenceRuns.greatest] as [UInt64] {
      let name = BundleName(writer: "w", sequence: sequence, length: 300, hash: hash)
      #expect(BundleName(name.text) == name)
    }
    let end = "\(hash.hex).bundle"
    for start in [
      "w-7-300", "w-00000000007-300", "w-010000000000-300", "w-+000000007-300", "w-0000000007-0300",
      "w-0000000007-+300", "w-0000000007-", "-0000000007-300", "w-0000000007", "w-0000000007-300-1",
      "w-0000000007-9223372036854775808", "w-18446744073709551616-300",
    ] {
      #expect(BundleName("\(start)-\(end)") == nil, "\(start)")
    }
    #expect(BundleName("w-0000000007-300-\(hash.hex.uppercased()).bundle") == nil)
  }
}
