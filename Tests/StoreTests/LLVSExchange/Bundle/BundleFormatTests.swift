import Foundation
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

/// The bytes of bundles: what is frozen, and what is refused.
@Suite("The format of bundles", .timeLimit(.minutes(2)))
struct BundleFormatTests {
  private let directory: TemporaryDirectory
  private let folder: String
  private let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("x")
    try FileSystem.makeDirectory(folder)
    store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
  }

  private func retrieve() throws -> ExchangeReport {
    try FolderFormat.bundles.retrieve(into: store, folder)
  }

  private static func version(_ id: String, after: [String] = [], _ time: Double = 1) -> Version {
    Version(
      id: Version.ID(id),
      predecessors: after.first.map {
        .init(idOfFirst: .init($0), idOfSecond: after.dropFirst().first.map { .init($0) })
      }, timestamp: time, valueDataSize: nil, metadata: [:])
  }

  private static let uuid = "0123ABCD-0000-4000-8000-00000000FFFF"

  @Test("a bundle put together by the description is read, whatever its ids and changes")
  func byHand() throws {
    var sample = BundleSample()
    var root = Self.version("root")
    root.valueDataSize = 3
    root.metadata[Version.MetadataKey("build")] = .init(data: Array("42".utf8))
    sample.add(root, changes: [1, 1, 0x61, 1, 7, 1, 1, 0x62, 2, 8, 9])
    sample.add(Self.version(Self.uuid, after: ["root"], 2), changes: [2, 1, 0x61, 0, 3, 1, 0x62])
    // The version before by its distance, and a merge.
    sample.add(Version.ID("side"), [1, 2] + [0x40, 8, 0, 0, 0, 0, 0, 0] + [0, 0], [3, 1, 0x61])
    sample.add(
      Self.version("merge", after: ["side", Self.uuid], 4),
      changes: [4, 1, 0x61] + BundleSample.id(Version.ID(Self.uuid)) + [5, 1, 0x62])
    try sample.write(to: folder, writer: "hand")
    let report = try retrieve()
    #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(report.refused)")
    #expect(report.taken.map(\.rawValue) == ["root", Self.uuid, "side", "merge"])
    #expect(try store.version(identifiedBy: .init("root")) == root)
    #expect(try store.version(identifiedBy: .init("side"))?.timestamp == 3)
    #expect(try store.version(identifiedBy: .init("side"))?.predecessors?.ids == [.init("root")])
    let merged = try store.valueReferences(at: .init("merge"))
    #expect(merged.map(\.valueId.rawValue) == ["a"])
    #expect(merged.map(\.storedVersionId.rawValue) == [Self.uuid])
  }

  @Test("what is whole and no bundle is refused by name, with nothing stored")
  func refused() throws {
    var good = BundleSample()
    good.add(Self.version("v"), changes: [])
    let bytes = good.bytes()
    var newer = good
    newer.head[7] = 2
    var encrypted = good
    encrypted.head[11] = 1
    var twice = good
    twice.add(Self.version("v"), changes: [])
    var shared = BundleSample()
    shared.add(Self.version("v"), changes: [UInt8](repeating: 0, count: 20))
    let length = good.bytes().count
    let huge = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] + Array("LLVSBDLE".utf8)
    let cases: [([UInt8], String)] = [
      ([], "short"), (Array(bytes.prefix(27)), "short"),
      ([UInt8](repeating: 0, count: 100), "no bundle"), (newer.bytes(), "newer"),
      (encrypted.bytes(), "newer"), (Array(bytes.dropLast()) + [0], "short"),
      (good.bytes(tail: huge), "end"),
      (good.bytes(frames: [(11, 2_000_000)]), "index"), (good.bytes(frames: []), "index"),
      (good.bytes(frames: [(1 << 50, 1 << 50)]), "index"), (twice.bytes(), "index"),
      (bytes.prefix(length - 16) + [0] + bytes.suffix(16), "index"),
    ]
    for (bytes, reason) in cases {
      let name = try BundleSample.write(Array(bytes), to: folder, writer: "w")
      let report = try retrieve()
      #expect(report.taken.isEmpty)
      #expect(report.refused.map(\.id.rawValue) == [name])
      let said = report.refused.first?.reason ?? ""
      #expect(said.hasPrefix("bundles/\(name): ") && said.contains(reason), "\(said), \(reason)")
      try FileSystem.unlink("\(folder)/bundles/\(name)")
    }
    #expect(try store.headNumbers().isEmpty)
  }

  @Test(
    "a malformed version is refused by name with what follows it; the others are taken",
    arguments: [
      ([1], "kind", nil), ([9, 1, 0x61], "kind", nil), ([1, 1], "early", nil),
      ([1, 1, 0x61, 5, 1], "early", nil), ([3, 1, 0xFF], "UTF-8", nil),
      ([3, 0x81, 0], "number", nil), ([3, 0xFF, 0xFF, 0x7F], "key", nil),
      ([4, 1, 0x61, 0], "early", nil), ([4, 1, 0x61, 1, 0x2F], "reference", nil),
      ([4, 1, 0x61, 4] + Array("NONE".utf8), "preserves", nil),
      ([], "predecessors", [3]), ([], "predecessors", [1, 9]), ([], "twice", [1, 0, 1, 0x76]),
      ([], "time", [0, 1]), ([], "range", [0, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0]),
      ([], "size", [0, 0, 0, 0, 0, 0, 0, 0, 0]), ([], "metadata", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
      ([], "metadata", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
      ([], "order", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0x61, 0, 1, 0x61, 0]),
      ([], "pieces", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0x7F]),
    ] as [([UInt8], String, [UInt8]?)])
  func malformed(_ changes: [UInt8], _ reason: String, _ version: [UInt8]?) throws {
    var sample = BundleSample()
    if let version {
      sample.add(Version.ID("v"), version, changes)
    } else {
      let changes = changes == [1] ? [0] : changes
      sample.add(Self.version("v"), changes: changes)
    }
    sample.add(Self.version("after", after: ["v"], 2), changes: [])
    sample.add(Self.version("good"), changes: [1, 1, 0x61, 0])
    let name = try sample.write(to: folder, writer: "w")
    let report = try retrieve()
    #expect(report.taken.map(\.rawValue) == ["good"])
    #expect(report.refused.map(\.id.rawValue) == ["v", "after"])
    let said = try require(report.refused.first?.reason)
    #expect(said.hasPrefix("bundles/\(name): version v: "), "\(said)")
    #expect(said.contains(reason), "\(said)")
    #expect(try store.version(Version.ID("v")) == nil)
    // It is read again each time, since not all of it is here.
    #expect(try retrieve().refused.count == 2)
  }

  @Test("a frame that does not unpack to the length told is refused with the versions in it")
  func frame() throws {
    var sample = BundleSample()
    sample.add(Self.version("v"), changes: [])
    let name = try BundleSample.write(
      sample.bytes(frames: [(11, 12)]), to: folder, writer: "w")
    let report = try retrieve()
    #expect(report.taken.isEmpty)
    #expect(report.refused.map(\.reason) == ["bundles/\(name): its frame 0 does not unpack"])
  }

  @Test("names that are no bundle's, and what is no file, are passed over")
  func litter() throws {
    var sample = BundleSample()
    sample.add(Self.version("v"), changes: [])
    let bytes = sample.bytes()
    let name = try sample.write(to: folder, writer: "w")
    let hash = Digest.of(bytes).hex
    for other in [
      ".\(name)", "\(name).tmp", "w-7-\(bytes.count)-\(hash).bundle",
      "w-0000000007-0\(bytes.count)-\(hash).bundle", "é-0000000007-\(bytes.count)-\(hash).bundle",
      "w-0000000007-\(bytes.count)-\(hash.uppercased()).bundle", "readme",
    ] {
      try File("\(folder)/bundles/\(other)", [.readWrite, .create]).write([1], at: 0)
    }
    let fake = "w-0000000009-0-\(Digest.of([]).hex).bundle"
    try FileSystem.makeDirectory("\(folder)/bundles/\(fake)")
    try FileSystem.symlink(
      "/etc/passwd", at: "\(folder)/bundles/w-0000000008-11-\(Digest.of([]).hex).bundle")
    let report = try retrieve()
    #expect(report.taken.map(\.rawValue) == ["v"])
    #expect(report.refused.isEmpty && report.waiting.isEmpty, "\(report)")
  }

  @Test("bytes changed anywhere do not crash, and what is taken is what was sent")
  func fuzz() throws {
    let source = try Store.open(path: directory.file("a"), mode: .writer, create: true)
    var last: Version.ID?
    var random = SeededRandom(seed: .random(in: 0...UInt64.max))
    for number in 0..<6 {
      last =
        try source.makeVersion(
          basedOnPredecessor: last,
          updating: [Value(id: .init("k\(number)"), data: random.bytes(number * 40))]
        ).id
    }
    let whole = directory.file("whole")
    try FileSystem.makeDirectory(whole)
    _ = try FolderFormat.bundles.send(source, whole)
    let name = try require(try FileSystem.list("\(whole)/bundles").first)
    let bytes = try FileSystem.read("\(whole)/bundles/\(name)", atMost: 1 << 20)
    for round in 0..<150 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let position = Int.random(in: 0..<changed.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: changed.remove(at: position)
        case 1: changed.insert(UInt8.random(in: 0...255, using: &random), at: position)
        default: changed[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
      }
      let written = try BundleSample.write(changed, to: folder, writer: "w\(round)")
      for id in try retrieve().taken {
        // Only what lost its digest on the way may hold anything else, or what came under another id.
        let record = try require(store.version(id))
        let mine = try source.version(id)
        #expect(
          mine == nil || record.flags.contains(.hasNoDigest)
            || record.map.digest == mine?.map.digest,
          "seed \(random.seed)")
      }
      try FileSystem.unlink("\(folder)/bundles/\(written)")
    }
    #expect(try store.verify().damage.isEmpty)
  }
}
