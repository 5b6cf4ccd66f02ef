import Foundation
import LLVSCore
import LLVSExchange
import TestSupport
import Testing

@testable import StoreSupport

/// Every merge in the folders that the original wrote, made again over the history that it made it in.
@Suite("Merges that the original made", .timeLimit(.minutes(2)))
struct OriginalOutcomeTests {
  private struct Made {
    let id: Version.ID
    let predecessors: [Version.ID]
    /// The version that stored each value, and what it holds.
    var stored: [String: String] = [:]
    var digests: [String: String] = [:]
  }

  private func merges(_ name: String) throws -> [Made] {
    let versions = try require(try ExchangeFixtures.expected(name)["versions"] as? [String: Any])
    var merges: [Made] = []
    for (id, value) in versions {
      let version = try require(value as? [String: Any])
      let predecessors = try require(version["predecessors"] as? [String])
      guard predecessors.count == 2 else { continue }
      var made = Made(
        id: Version.ID(id), predecessors: predecessors.map { Version.ID($0) })
      for (key, value) in try require(version["values"] as? [String: [String: Any]]) {
        made.stored[key] = try require(value["storedVersion"] as? String)
        made.digests[key] = try require(value["sha256"] as? String)
      }
      merges.append(made)
    }
    return merges.sorted { $0.id < $1.id }
  }

  private func digests(_ store: Store, _ id: Version.ID) throws -> [String: String] {
    let record = try require(store.version(id))
    var digests: [String: String] = [:]
    var cursor = MapCursor(store.map(of: record))
    while let entry = try cursor.next() {
      digests[entry.key.rawValue] =
        Digest.of(try store.contents.bytes(entry.stored, atMost: 1 << 24)).hex
    }
    return digests
  }

  /// What became of the merges with one of the arbiters.
  private func outcome(
    _ store: Store, _ made: Made, _ arbiter: ForkDecision,
    _ automatic: (VersionGraph) -> any ClashArbiter
  ) throws -> Bool {
    let version = try store.merge(
      made.predecessors[0], with: made.predecessors[1], by: arbiter)
    var stored: [String: String] = [:]
    for reference in try store.valueReferences(at: version.id) {
      stored[reference.valueId.rawValue] = reference.storedVersionId.rawValue
    }
    let numbers = try made.predecessors.map { try require(store.version($0)).number }
    // The merges of the mount come to the same bytes by the arbiter of the same name.
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.merge(
        numbers[1], into: numbers[0], allowingUnrelated: true, line: nil, arbiter: automatic)
    }
    let own = try require(try store.version(try require(report.outcome))).id
    let isSame = stored == made.stored
    if isSame { #expect(try digests(store, own) == made.digests) }
    return isSame
  }

  @Test(
    "the outcome is the original's, by the arbiter it was made with",
    arguments: [
      ("merge-most-recent-change", 1), ("merge-most-recent-branch", 1),
      ("merge-most-recent-branch-first-newer", 1), ("merge-unrelated", 1), ("criss-cross", 3),
      ("random-walk", 10), ("open-heads", 0),
    ])
  func again(_ name: String, _ count: Int) throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
    try FolderFormat.files.retrieve(into: store, try ExchangeFixtures.folder(name))
    let merges = try merges(name)
    #expect(merges.count == count)
    for made in merges {
      let byChange = try outcome(store, made, OriginalArbiter.mostRecentChange) {
        MostRecentChangeClashArbiter(graph: $0)
      }
      let byBranch = try outcome(store, made, OriginalArbiter.mostRecentBranch) { _ in
        MostRecentBranchClashArbiter()
      }
      #expect(byChange || byBranch, "\(name): \(made.id.rawValue)")
    }
  }

  @Test("heads left open are the heads here, and the newest is the newest")
  func openHeads() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), mode: .writer, create: true)
    try FolderFormat.files.retrieve(into: store, try ExchangeFixtures.folder("open-heads"))
    let expected = try ExchangeFixtures.expected("open-heads")
    let heads = try require(expected["heads"] as? [String])
    #expect(try store.headNumbers().count > 1)
    #expect(
      Set(try store.graph.heads().map(\.id.rawValue)) == Set(heads))
    #expect(try store.mostRecentHead?.id.rawValue == expected["mostRecentHead"] as? String)
    let newest = try require(try store.mostRecentHead).id
    // Merged one after the other, oldest first, as the original from 0.10 on does everywhere.
    var merged = newest
    for head in try store.graph.heads().sorted(by: HistoryNode.mergesBefore)
    where head.id != newest {
      merged = try store.merge(merged, with: head.id, by: OriginalArbiter.mostRecentChange).id
    }
    #expect(try store.graph.heads().map(\.id) == [merged])
  }
}
