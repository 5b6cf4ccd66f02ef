import Foundation
import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite("Exchange through a folder", .timeLimit(.minutes(2)))
struct FileSystemExchangeTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func store(_ name: String) throws -> Store {
    try Store.open(path: directory.file(name), mode: .writer, create: true)
  }

  private func folder(_ name: String) throws -> String {
    let path = directory.file(name)
    try FileSystem.makeDirectory(path)
    return path
  }

  private func retrieve(_ store: Store, _ folder: String) throws -> ExchangeReport {
    try FolderFormat.files.retrieve(into: store, folder)
  }

  private func send(_ store: Store, _ folder: String) throws -> ExchangeReport {
    try FolderFormat.files.send(store, folder)
  }

  /// Checks every version's whole content against what the original read back.
  private func check(_ store: Store, _ name: String) throws {
    let expected = try ExchangeFixtures.expected(name)
    let versions = try require(expected["versions"] as? [String: [String: Any]])
    #expect(try Set(store.heads().map(\.rawValue)) == Set(expected["heads"] as? [String] ?? []))
    for (text, facts) in versions {
      let id = Version.ID(text)
      let version = try require(store.version(identifiedBy: id))
      #expect(version.timestamp == facts["timestamp"] as? Double)
      #expect(
        (version.predecessors?.ids ?? []).map(\.rawValue) == facts["predecessors"] as? [String])
      let values = try require(facts["values"] as? [String: [String: Any]])
      var count = 0
      for reference in try store.valueReferences(at: id) {
        count += 1
        let fact = values[reference.valueId.rawValue]
        let value = try store.value(storedAt: reference)
        #expect(fact?["sha256"] as? String == value.map { Digest.of($0.data).hex })
        #expect(fact?["storedVersion"] as? String == reference.storedVersionId.rawValue)
      }
      #expect(count == values.count)
    }
  }

  @Test(
    "what the original sent is retrieved, sent on and retrieved again",
    arguments: ExchangeFixtures.cases)
  func fixtures(_ name: String) throws {
    let first = try store("a")
    let source = try ExchangeFixtures.folder(name)
    let report = try retrieve(first, source)
    #expect(report.refused.isEmpty && report.waiting.isEmpty)
    #expect(report.taken.count == report.remoteIDs.count)
    try check(first, name)
    #expect(try retrieve(first, source).taken.isEmpty)

    let through = try folder("through")
    #expect(try send(first, through).sent.count == report.taken.count)
    #expect(try send(first, through).sent.isEmpty)
    #expect(try FileSystem.list(through).sorted() == ["changes", "versions"])
    let second = try store("b")
    #expect(try retrieve(second, through).taken.count == report.taken.count)
    try check(second, name)
    for id in report.taken {
      let (a, b) = (try require(first.version(id)), try require(second.version(id)))
      #expect(a.map.digest == b.map.digest)
      #expect(try first.version(from: a) == second.version(from: b))
    }
    // Forwarded lists are the same by whatever route they came.
    let again = try folder("again")
    _ = try send(second, again)
    for id in report.taken {
      let name = "changes/\(id.rawValue)"
      #expect(
        try FileSystem.read("\(through)/\(name)", atMost: 1 << 24)
          == FileSystem.read("\(again)/\(name)", atMost: 1 << 24))
    }
  }

  @Test("two stores that merge come to the same versions through a folder")
  func converge() throws {
    let through = try folder("x")
    let (a, b) = (try store("a"), try store("b"))
    let root = try a.makeVersion(
      basedOnPredecessor: nil,
      inserting: [
        Value(id: .init("k"), data: [1]), Value(id: .init("big"), data: noise(300_000)),
        Value(id: .init("gone"), data: [9]),
      ])
    _ = try send(a, through)
    #expect(try retrieve(b, through).taken == [root.id])
    _ = try a.makeVersion(
      basedOnPredecessor: root.id, inserting: [Value(id: .init("a"), data: noise(3_000_000))],
      updating: [Value(id: .init("k"), data: [2])])
    _ = try b.makeVersion(
      basedOnPredecessor: root.id, inserting: [Value(id: .init("b"), data: [])],
      updating: [Value(id: .init("k"), data: [3])], removing: [.init("gone")])
    for store in [a, b] { _ = try send(store, through) }
    for store in [a, b] {
      #expect(try retrieve(store, through).taken.count == 1)
      let report = try store.write { (transaction) throws(StoreError) in
        try transaction.mergeHeads(ofLine: nil, live: nil)
      }
      #expect(report.made.count == 1)
    }
    let (first, second) = (try require(a.mostRecentHead), try require(b.mostRecentHead))
    #expect(first == second)
    #expect(try require(a.version(first.id)).map.digest == require(b.version(first.id)).map.digest)
    #expect(try send(a, through).sent == [first.id])
    #expect(try send(b, through).sent.isEmpty)
    let third = try store("c")
    #expect(try retrieve(third, through).taken.count == 4)
    let merged = try require(third.version(first.id))
    #expect(merged.flags.contains(.automatic))
    #expect(try third.valueReferences(at: first.id) == a.valueReferences(at: first.id))
    let big = try third.value(id: .init("a"), at: first.id)
    #expect(big?.data == noise(3_000_000))
  }

  @Test("another store is a peer like a folder")
  func storeAsPeer() throws {
    let (a, b) = (try store("a"), try store("b"))
    let root = try a.makeVersion(
      basedOnPredecessor: nil, inserting: [Value(id: .init("k"), data: noise(13_000_000))])
    let report = try b.retrieve(from: StoreSource(a))
    #expect(report.taken == [root.id])
    #expect(try b.value(id: .init("k"), at: root.id)?.data == noise(13_000_000))
  }

  private func noise(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(count))
    return random.bytes(count)
  }
}

extension Store {
  fileprivate func heads() throws -> [Version.ID] {
    try headNumbers().map { try id(of: $0) }
  }
}
