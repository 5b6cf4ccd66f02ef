import LLVSCore
import Testing

@testable import StoreSupport

/// The values of a base and the changes of two versions on it.
struct TwoSides {
  struct Outcome {
    var values: [String: String]
    var dropped: [String]
    var changes: [String]
    var entries: [Key: Entry]
  }

  var base: [String: String]
  var first: [String: String?] = [:]
  var second: [String: String?] = [:]

  static func edits(
    _ values: [String: String?], _ replica: SampleReplica,
    _ adjust: (inout Entry) -> Void = { _ in }
  ) -> [MapEdit] {
    values.map { key, text in
      guard let text else { return .remove(Key(key), directory: false) }
      var entry = Samples.value(key, Array(text.utf8), version: replica.nextNumber.rawValue)
      entry.attributes.mode = 0o644
      entry.revision = replica.allotRevision()
      adjust(&entry)
      return .put(entry)
    }
  }

  /// Merges in one store, then has another follow the change list: both hold the same. The second side is newer.
  func merged(
    by arbiter: (any ClashArbiter)? = nil, adjustFirst: (inout Entry) -> Void = { _ in },
    adjustSecond: (inout Entry) -> Void = { _ in }
  ) throws -> Outcome {
    let replica = SampleReplica()
    let root = try replica.author(
      on: nil, id: Version.ID("R"), timestamp: 10,
      edits: Self.edits(base.mapValues { $0 }, replica))
    let a = try replica.author(
      on: root, id: Version.ID("A"), timestamp: 20, edits: Self.edits(first, replica, adjustFirst))
    let b = try replica.author(
      on: root, id: Version.ID("B"), timestamp: 30,
      edits: Self.edits(second, replica, adjustSecond))
    let merged = try #require(
      try replica.merge(a, b, arbiter ?? MostRecentChangeClashArbiter(graph: replica.graph)))
    #expect(merged.isAutomatic)
    let other = SampleReplica()
    try other.retrieve(from: replica)
    let there = try other.record(VersionNumber(4))
    let record = try replica.record(merged.number)
    #expect(there.map.contentDigest == record.map.contentDigest)
    #expect(there.node.isAutomatic)
    let dropped = try replica.merger.drops(of: merged).map(\.key.rawValue)
    #expect(try other.merger.drops(of: there.node).map(\.key.rawValue) == dropped)
    // A merge changes only keys that differ between its predecessors.
    let entries = try Samples.entries(of: record.map)
    var values: [String: String] = [:]
    for entry in entries {
      guard case .inline(let bytes) = entry.stored.content else { continue }
      values[entry.key.rawValue] = String(decoding: bytes, as: UTF8.self)
    }
    return Outcome(
      values: values, dropped: dropped, changes: record.changes.keys.map(\.rawValue).sorted(),
      entries: Dictionary(entries.map { ($0.key, $0) }) { $1 })
  }
}
