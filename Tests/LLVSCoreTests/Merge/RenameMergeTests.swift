import LLVSCore
import TestSupport
import Testing

@testable import StoreSupport

/// Merges of a side that renamed a value with one that changed it.
@Suite(.timeLimit(.minutes(1)))
struct RenameMergeTests {
  private typealias Sides = TwoSides

  private func merge(
    _ sides: Sides, _ arbiter: (any ClashArbiter)? = nil,
    adjustFirst: (inout Entry) -> Void = { _ in }, adjustSecond: (inout Entry) -> Void = { _ in }
  ) throws -> TwoSides.Outcome {
    try sides.merged(by: arbiter, adjustFirst: adjustFirst, adjustSecond: adjustSecond)
  }

  @Test("a change follows the name that the other side gave the value", arguments: [false, true])
  func follows(isSwapped: Bool) throws {
    var sides = Sides(
      base: ["m": "old", "k": "k"], first: ["m": nil, "b": "old"], second: ["m": "new"])
    if isSwapped { (sides.first, sides.second) = (sides.second, sides.first) }
    let outcome = try merge(sides)
    #expect(outcome.values == ["b": "new", "k": "k"])
    #expect(outcome.dropped == [])
    #expect(outcome.changes == (isSwapped ? ["b", "m"] : ["b"]))
    // Whatever the arbiter: there is no clash.
    for arbiter: any ClashArbiter in [
      MostRecentBranchClashArbiter(), OneSideClashArbiter(.first), OneSideClashArbiter(.second),
    ] {
      #expect(try merge(sides, arbiter).values == ["b": "new", "k": "k"])
    }
    // Names before and behind the old one, and several at once.
    sides = Sides(
      base: ["d/1": "1", "d/2": "2", "d/3": "3"],
      first: ["d/1": nil, "d/2": nil, "d/3": nil, "a/1": "1", "z/2": "2", "z/3": "3"],
      second: ["d/1": "one", "d/2": "two"])
    if isSwapped { (sides.first, sides.second) = (sides.second, sides.first) }
    let several = try merge(sides)
    #expect(several.values == ["a/1": "one", "z/2": "two", "z/3": "3"])
    #expect(several.dropped == [])
  }

  @Test("nothing is followed that is not certain: the change wins over the removal and is listed")
  func uncertain() throws {
    // Changed in the same step.
    var outcome = try merge(
      Sides(base: ["m": "old"], first: ["m": nil, "b": "old!"], second: ["m": "new"]))
    #expect(outcome.values == ["m": "new", "b": "old!"])
    #expect(outcome.dropped == ["m"])
    // Two copies.
    outcome = try merge(
      Sides(base: ["m": "old"], first: ["m": nil, "b": "old", "c": "old"], second: ["m": "new"]))
    #expect(outcome.values == ["m": "new", "b": "old", "c": "old"])
    // Two that were alike.
    outcome = try merge(
      Sides(
        base: ["m": "old", "n": "old"], first: ["m": nil, "n": nil, "b": "old"],
        second: ["m": "new"]))
    #expect(outcome.values == ["m": "new", "b": "old"])
    // The other side has something under that name.
    outcome = try merge(
      Sides(base: ["m": "old"], first: ["m": nil, "b": "old"], second: ["m": "new", "b": "mine"]))
    #expect(outcome.values == ["m": "new", "b": "mine"])
    #expect(outcome.dropped == ["b", "m"])
    // Removed alone.
    outcome = try merge(Sides(base: ["m": "old"], first: ["m": nil], second: ["m": "new"]))
    #expect(outcome.values == ["m": "new"])
    #expect(outcome.dropped == ["m"])
  }

  @Test("both sides renamed a value: both names stay, nothing is dropped")
  func twice() throws {
    var outcome = try merge(
      Sides(base: ["m": "old"], first: ["m": nil, "b": "old"], second: ["m": nil, "c": "old"]))
    #expect(outcome.values == ["b": "old", "c": "old"])
    #expect(outcome.dropped == [])
    outcome = try merge(
      Sides(base: ["m": "old"], first: ["m": nil, "b": "old"], second: ["m": nil, "b": "old"]))
    #expect(outcome.values == ["b": "old"])
    #expect(outcome.dropped == [])
    // Renamed and removed: the new name stays.
    outcome = try merge(
      Sides(base: ["m": "old"], first: ["m": nil, "b": "old"], second: ["m": nil]))
    #expect(outcome.values == ["b": "old"])
  }

  @Test("what was renamed keeps the attributes of its new name, and has no time of its own")
  func attributes() throws {
    let outcome = try merge(
      Sides(base: ["m": "old"], first: ["m": "new"], second: ["m": nil, "b": "old"]),
      adjustFirst: {
        $0.attributes.mtime = .init(seconds: 5, nanoseconds: 0)
        $0.attributes.mode = 0o600
      },
      adjustSecond: {
        $0.attributes.mtime = .init(seconds: 7, nanoseconds: 0)
        $0.attributes.mode = 0o755
      })
    let entry = try #require(outcome.entries[Key("b")])
    #expect(entry.attributes == Attributes(mode: 0o755))
    #expect(outcome.values == ["b": "new"])
    // A change of attributes alone is no change of the bytes: the rename alone remains.
    let plain = try merge(
      Sides(base: ["m": "old"], first: ["m": "old"], second: ["m": nil, "b": "old"]),
      adjustFirst: { $0.attributes.mode = 0o600 })
    #expect(plain.values == ["b": "old"])
    #expect(plain.dropped == [])
  }

  @Test("a later change of the old name follows too, and a merge that did not follow loses nothing")
  func later() throws {
    let replica = SampleReplica()
    func author(_ id: String, on head: HistoryNode?, _ time: Double, _ values: [String: String?])
      throws -> HistoryNode
    {
      try replica.author(
        on: head, id: Version.ID(id), timestamp: time, edits: TwoSides.edits(values, replica))
    }
    let root = try author("R", on: nil, 1, ["m": "0"])
    let one = try author("A", on: root, 2, ["m": nil, "b": "0"])
    let two = try author("B", on: root, 3, ["m": "1"])
    let three = try author("C", on: two, 4, ["m": "2"])
    let arbiter = MostRecentChangeClashArbiter(graph: replica.graph)
    let merged = try #require(try replica.merge(one, two, arbiter))
    let last = try #require(try replica.merge(merged, three, arbiter))
    let entries = try Samples.entries(of: replica.record(last.number).map)
    #expect(entries.map(\.key.rawValue) == ["b"])
    #expect(entries.map(\.stored.digest) == [Digest.of(Array("2".utf8))])
    #expect(try replica.finder.unsettledDrops(at: last.number).drops == [])
  }

  @Test("what only won against the renamed bytes in a merge does not displace them")
  func unknowing() throws {
    let replica = SampleReplica()
    func author(_ id: String, on head: HistoryNode?, _ time: Double, _ values: [String: String?])
      throws -> HistoryNode
    {
      try replica.author(
        on: head, id: Version.ID(id), timestamp: time, edits: TwoSides.edits(values, replica))
    }
    let root = try author("R", on: nil, 1, ["m": "0"])
    let one = try author("A", on: root, 2, ["m": "1"])
    let two = try author("B", on: root, 3, ["m": "2"])
    let renamed = try author("C", on: one, 4, ["m": nil, "b": "1"])
    let arbiter = MostRecentChangeClashArbiter(graph: replica.graph)
    let merged = try #require(try replica.merge(one, two, arbiter))
    #expect(try replica.record(merged.number).map.entry(at: Key("m"))?.storedVersion == two.number)
    let last = try #require(try replica.merge(merged, renamed, arbiter))
    let map = try replica.record(last.number).map
    #expect(try map.entry(at: Key("b"))?.stored.digest == Digest.of(Array("1".utf8)))
    #expect(try map.entry(at: Key("m"))?.stored.digest == Digest.of(Array("2".utf8)))
    #expect(try replica.merger.drops(of: last).map(\.key.rawValue) == ["m"])
  }
}
