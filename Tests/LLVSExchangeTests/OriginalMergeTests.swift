import Foundation
import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

/// Merges that the original made, made again with the arbiters of the same names.
@Suite(.timeLimit(.minutes(1)))
struct OriginalMergeTests {
  private struct Expected: Decodable {
    struct Held: Decodable {
      let sha256: String
      let storedVersion: String
    }

    struct Made: Decodable {
      let predecessors: [String]
      let timestamp: Double
      let values: [String: Held]
    }

    let versions: [String: Made]
  }

  private struct Change: Decodable {
    struct Stored: Decodable {
      let id: String
      let data: Data
    }

    let insert: Stored?
    let update: Stored?
    let remove: String?
  }

  private func root(_ name: String) -> URL {
    Bundle.module.bundleURL.appendingPathComponent("Resources/llvs/\(name)")
  }

  private func load(_ name: String) throws -> Expected {
    let url = root(name).appendingPathComponent("expected.json")
    return try JSONDecoder().decode(Expected.self, from: Data(contentsOf: url))
  }

  private func changes(_ name: String, _ id: String) throws -> [Change] {
    let url = root(name).appendingPathComponent("exchange/changes/\(id)")
    return try JSONDecoder().decode([Change].self, from: Data(contentsOf: url))
  }

  /// Adds a version that is no merge, under its own id and time.
  private func add(
    _ id: String, _ made: Expected.Made, _ changes: [Change], to store: Store
  ) throws {
    try store.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      var first: VersionRecord?
      for predecessor in made.predecessors {
        first = try transaction.version(Version.ID(predecessor))
      }
      let base = store.map(first?.map ?? .empty)
      var edits: [MapEdit] = []
      for change in changes {
        if let key = change.remove {
          edits.append(.remove(Key(key), directory: false))
        } else if let value = change.insert ?? change.update {
          edits.append(
            .put(
              Entry(
                key: Key(value.id), kind: .regular, attributes: Attributes(),
                stored: try transaction.write(Array(value.data)), storedVersion: number, revision: 0
              )))
        }
      }
      let map = try base.applying(edits: edits.sorted(by: MapEdit.precedes))
      try transaction.add(
        NewVersion(
          number: number, id: Version.ID(id), first: first?.number, timestamp: made.timestamp,
          map: map.root))
    }
  }

  private func check(_ name: String, _ arbiter: ForkDecision) throws {
    let expected = try load(name)
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    var merges = 0
    for (id, made) in expected.versions.sorted(by: { $0.value.timestamp < $1.value.timestamp }) {
      guard made.predecessors.count == 2 else {
        // What follows the merge stands on a version that has another id here.
        guard merges == 0 else { continue }
        try add(id, made, try changes(name, id), to: store)
        continue
      }
      merges += 1
      let version = try store.merge(
        Version.ID(made.predecessors[0]), with: Version.ID(made.predecessors[1]), by: arbiter)
      var held: [String: String] = [:]
      for reference in try store.valueReferences(at: version.id) {
        held[reference.valueId.rawValue] = reference.storedVersionId.rawValue
        let value = try #require(try store.value(id: reference.valueId, at: version.id))
        #expect(Digest.of(value.data).hex == made.values[reference.valueId.rawValue]?.sha256)
      }
      #expect(held == made.values.mapValues(\.storedVersion))
    }
    #expect(merges == 1)
  }

  @Test("every fork kind, most recent change")
  func change() throws { try check("merge-most-recent-change", OriginalArbiter.mostRecentChange) }

  @Test("every fork kind, most recent branch")
  func branch() throws { try check("merge-most-recent-branch", OriginalArbiter.mostRecentBranch) }

  @Test("every fork kind, most recent branch, the first newer")
  func firstNewer() throws {
    try check("merge-most-recent-branch-first-newer", OriginalArbiter.mostRecentBranch)
  }

  @Test("an arbiter has to decide every conflict, and may write other values")
  func arbiters() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    func value(_ id: String, _ byte: UInt8) -> Value { Value(id: Value.ID(id), data: [byte]) }
    let root = try store.makeVersion(basedOnPredecessor: nil, inserting: [value("a", 0)])
    let one = try store.makeVersion(basedOnPredecessor: root.id, updating: [value("a", 1)])
    let two = try store.makeVersion(
      basedOnPredecessor: root.id, inserting: [value("b", 2)], updating: [value("a", 2)])
    #expect(throws: StoreError.self) {
      try store.merge(one.id, with: two.id) { _, _ in [] }
    }
    let id = try store.merge(one.id, with: two.id) { merge, _ in
      #expect(
        merge.forksByValueIdentifier == [
          Value.ID("a"): .twiceUpdated, Value.ID("b"): .inserted(.second),
        ])
      return [.update(value("a", 9)), .insert(value("log", 7))]
    }.id
    #expect(try store.value(idString: "a", at: id)?.data == [9])
    #expect(try store.value(idString: "b", at: id)?.data == [2])
    #expect(try store.value(idString: "log", at: id)?.data == [7])
    let told = try store.valueChanges(madeInVersionIdentifiedBy: id)
    #expect(told.map(\.key.rawValue) == ["a", "b", "log"])
    #expect(told[1] == .preserve(Value.Reference(valueId: Value.ID("b"), storedVersionId: two.id)))
    #expect(try store.merge(id, with: root.id) { _, _ in [] }.id == id)
  }
}
