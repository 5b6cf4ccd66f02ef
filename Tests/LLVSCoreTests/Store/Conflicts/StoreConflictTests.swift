import LLVSCore
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct StoreConflictTests {
  private func merge(_ store: Store) throws -> VersionNumber {
    let outcome = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: nil).outcome
    }
    return try #require(outcome)
  }

  @Test("a store lists what its merges dropped until a version that knew it says otherwise")
  func listed() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    var store = try Store.open(path: path, create: true)
    func value(_ key: String, _ text: String) -> Value {
      Value(id: Value.ID(key), data: Array(text.utf8))
    }
    let root = try store.makeVersion(
      basedOnPredecessor: nil,
      inserting: [value("a", "0"), value("b", "0"), value("d/c", "0")])
    let one = try store.makeVersion(
      basedOnPredecessor: root.id, updating: [value("a", "1"), value("b", "1")],
      removing: [Value.ID("d/c")])
    let two = try store.makeVersion(
      basedOnPredecessor: root.id,
      updating: [value("a", "2"), value("b", "2"), value("d/c", "2")])
    let merged = try merge(store)
    let open = try store.openConflicts(at: merged)
    #expect(open.map(\.key) == [Key("a"), Key("b"), Key("d/c")])
    #expect(open[0].base?.stored.digest == Digest.of(Array("0".utf8)))
    #expect(open[0].ours?.stored.digest == Digest.of(Array("2".utf8)))
    #expect(open[0].theirs.map(\.version.id) == [one.id])
    #expect(open[2].theirs.map(\.version.id) == [one.id])
    #expect(open[2].theirs[0].entry == nil)
    #expect(
      try store.openConflicts(at: merged, where: { $0.rawValue.hasPrefix("d/") }).map(\.key) == [
        Key("d/c")
      ])
    // Settled by a write, by name, and not by somebody who never saw the other side.
    let record = try #require(try store.version(merged))
    _ = try store.makeVersion(basedOnPredecessor: two.id, updating: [value("d/c", "3")])
    let written = try store.makeVersion(
      basedOnPredecessor: record.id, updating: [value("a", "both")],
      metadata: [.settled: Version.MetadataValue(keys: [Key("b")])])
    let writtenNumber = try #require(try store.version(written.id)).number
    #expect(try store.openConflicts(at: writtenNumber).map(\.key) == [Key("d/c")])
    let last = try merge(store)
    #expect(try store.openConflicts(at: last).map(\.key) == [Key("d/c")])
    #expect(try store.openConflicts(at: merged).count == 3)
    // What is kept between runs, and what is made anew without it, is the same.
    let expected = try store.openConflicts(at: last)
    store = try Store.open(path: directory.file("other"), create: true)
    store = try Store.open(path: path)
    #expect(try store.openConflicts(at: last) == expected)
    store = try Store.open(path: directory.file("another"), create: true)
    for suffix in ["", "-wal", "-shm"] { try? FileSystem.unlink("\(path)/index.sqlite\(suffix)") }
    store = try Store.open(path: path)
    #expect(try store.openConflicts(at: last) == expected)
  }
}
