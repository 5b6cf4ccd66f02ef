import Foundation
import Platform
import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// Bundles in a folder that others write to.
@Suite("Bundles that are malformed or forged", .timeLimit(.minutes(2)))
struct ForgedBundleTests {
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

  /// Puts a bundle with these entries of the outline into the folder, and returns its name.
  @discardableResult
  private func put(_ entries: [[UInt8]]) throws -> String { try made(entries).put(into: folder) }

  private func made(_ entries: [[UInt8]]) throws -> BundleMade {
    try BundleMade(scratch: directory.path) { bundle in
      for entry in entries { try bundle.add(entry: entry) }
    }
  }

  /// Returns a bundle with one item, and a directory that says so; the body changes the directory.
  private func withItem(
    of length: Int, _ body: (inout BundleDirectory) -> Void
  ) -> BundleMade {
    let bytes = [UInt8](repeating: 7, count: 11)
    let table = [0] + Digest.of([UInt8](repeating: 7, count: length)).bytes + [UInt8(length)]
    var directory = BundleDirectory(writer: "w", sequence: 3)
    directory.content = [.init(stands: 11, unpacked: length, items: 1)]
    directory.table = [.init(stands: 34, unpacked: 34, hash: Digest.of(table))]
    directory.stays = [BundleClaim(writer: "w", upTo: 3, kept: SequenceRuns([3]))]
    body(&directory)
    return BundleMade(writer: "w", bytes + table, directory)
  }

  private static let uuid = "0123ABCD-0000-4000-8000-00000000FFFF"

  @Test("a bundle put together by the description is read, whatever its ids and changes")
  func byHand() throws {
    var root = BundleMade.version("root")
    root.valueDataSize = 3
    root.metadata[Version.MetadataKey("build")] = .init(data: Array("42".utf8))
    var preserve: [UInt8] = [4, 1, 0x61]
    try preserve.append(bundled: Version.ID(Self.uuid))
    try put([
      try BundleMade.entry(root, [1, 1, 0x61, 0, 1, 7, 1, 1, 0x62, 0, 2, 8, 9]),
      try BundleMade.entry(
        BundleMade.version(Self.uuid, after: ["root"], 2), [2, 1, 0x61, 0, 0, 3, 1, 0x62]),
      // The version before by its distance, and a merge.
      try BundleMade.entry(
        Version.ID("side"), [1, 2] + [0x40, 8, 0, 0, 0, 0, 0, 0] + [0, 0], [3, 1, 0x61]),
      try BundleMade.entry(
        BundleMade.version("merge", after: ["side", Self.uuid], 4), preserve + [5, 1, 0x62]),
    ])
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
    let entry = try BundleMade.entry(BundleMade.version("v"))
    let bytes = try made([entry]).bytes
    let (start, end) = (bytes.dropLast(48), bytes.suffix(48))
    func ending(_ magic: String, format: UInt8 = 2) -> [UInt8] {
      Array("LLVSBDL".utf8) + [format] + bytes[8...].dropLast(8) + Array(magic.utf8)
    }
    let huge = [UInt8](repeating: 0xFF, count: 8) + end.dropFirst(8)
    var damaged = bytes
    damaged[start.count - 1] ^= 1
    let cases: [([UInt8], String)] = [
      ([], "short"), (Array(bytes.prefix(27)), "short"),
      ([UInt8](repeating: 0, count: 100), "no bundle"),
      (ending("LLVSBDP5", format: 5), "newer"), (ending("LLVSBDLE", format: 1), "end"),
      (Array(bytes.dropLast()) + [0], "end"), (start + huge, "end"), (damaged, "damaged"),
      (withItem(of: 11) { $0.content[0].unpacked = 2_000_000 }.bytes, "frames"),
      (withItem(of: 11) { $0.content = [] }.bytes, "frames"),
      (withItem(of: 11) { $0.content[0].stands = 1 << 50 }.bytes, "frames"),
      (withItem(of: 11) { $0.content[0].items = 2 }.bytes, "table"),
      (withItem(of: 11) { $0.entries = 1 }.bytes, "entries"),
      (try made([entry, entry]).bytes, "twice"), (try made([[2, 0]]).bytes, "newer"),
    ]
    for (bytes, reason) in cases {
      let name = try BundleMade.put(bytes, into: folder)
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
      ([0], "kind", nil), ([9, 1, 0x61], "kind", nil), ([1, 1], "early", nil),
      ([1, 1, 0x61, 0, 5, 1], "early", nil), ([3, 1, 0xFF], "UTF-8", nil),
      ([3, 0x81, 0], "number", nil), ([3, 0xFF, 0xFF, 0x7F], "key", nil),
      ([1, 1, 0x61, 0, 0xFF, 0x7F], "a value", nil), ([1, 1, 0x61, 4], "form", nil),
      ([1, 1, 0x61, 1, 0, 1], "item", nil), ([4, 1, 0x61, 0], "early", nil),
      ([4, 1, 0x61, 1, 0x2F], "id", nil), ([4, 1, 0x61, 4] + Array("NONE".utf8), "preserves", nil),
      ([], "predecessors", [3]), ([], "predecessors", [1, 9]), ([], "twice", [1, 0, 1, 0x76]),
      ([], "early", [0, 1]), ([], "range", [0, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0]),
      ([], "early", [0, 0, 0, 0, 0, 0, 0, 0, 0]),
      ([], "early", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
      ([], "order", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0x61, 0, 1, 0x61, 0]),
      ([], "pieces", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0x7F]),
    ] as [([UInt8], String, [UInt8]?)])
  func malformed(_ changes: [UInt8], _ reason: String, _ description: [UInt8]?) throws {
    let name = try put([
      try description.map { try BundleMade.entry(Version.ID("v"), $0, changes) }
        ?? BundleMade.entry(BundleMade.version("v"), changes),
      try BundleMade.entry(BundleMade.version("after", after: ["v"], 2)),
      try BundleMade.entry(BundleMade.version("good"), [1, 1, 0x61, 0, 0]),
    ])
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
    let name = try withItem(of: 12) { _ in }.put(into: folder)
    let report = try retrieve()
    #expect(report.taken.isEmpty)
    #expect(report.refused.map(\.reason) == ["bundles/\(name): its frame 0 does not unpack"])
  }

  @Test("names that are no bundle's, and what is no file, are passed over")
  func litter() throws {
    let made = try made([try BundleMade.entry(BundleMade.version("v"))])
    let bytes = made.bytes
    let name = try made.put(into: folder)
    let hash = Digest.of(bytes).hex
    for other in [
      ".\(name)", "\(name).tmp", "w-3-\(bytes.count)-\(hash).bundle",
      "w-0000000003-0\(bytes.count)-\(hash).bundle", "é-0000000003-\(bytes.count)-\(hash).bundle",
      "w-0000000003-\(bytes.count)-\(hash.uppercased()).bundle", "readme",
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
    try FolderFormat.bundles.send(source, whole)
    let name = try require(try FileSystem.list("\(whole)/bundles").first)
    let bytes = try FileSystem.read("\(whole)/bundles/\(name)", atMost: 1 << 20)
    let (writer, sequence) = try #require(BundleName(name).map { ($0.writer, $0.sequence) })
    for _ in 0..<150 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let position = Int.random(in: 0..<changed.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: changed.remove(at: position)
        case 1: changed.insert(UInt8.random(in: 0...255, using: &random), at: position)
        default: changed[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
      }
      let written = try BundleMade.put(
        changed, into: folder, writer: writer, sequence: sequence)
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
