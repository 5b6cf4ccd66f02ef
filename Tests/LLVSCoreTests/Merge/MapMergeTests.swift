import LLVSCore
import Testing

@testable import StoreSupport

/// Merges of two versions over their common predecessor.
@Suite(.timeLimit(.minutes(1)))
struct MapMergeTests {
  private let replica = SampleReplica()

  private struct Outcome {
    var result: MergeResult
    var entries: [String: Entry]
  }

  private func put(
    _ key: String, _ text: String, _ number: UInt32, _ change: (inout Entry) -> Void = { _ in }
  )
    -> MapEdit
  {
    var entry = Samples.value(key, Array(text.utf8), version: number)
    change(&entry)
    return .put(entry)
  }

  /// Merges versions 2 and 3, made on version 1 at times 20 and 30.
  private func merge(
    base: [MapEdit], first: [MapEdit], second: [MapEdit], arbiter: (any ClashArbiter)? = nil
  ) throws -> Outcome {
    let root = try replica.author(on: nil, id: Version.ID("R"), timestamp: 10, edits: base)
    let a = try replica.author(on: root, id: Version.ID("A"), timestamp: 20, edits: first)
    let b = try replica.author(on: root, id: Version.ID("B"), timestamp: 30, edits: second)
    guard case .merge(let bases) = try replica.merger.plan(a, b) else {
      throw StoreError.invalid("no merge is planned")
    }
    #expect(bases.map(\.id) == [root.id])
    var options = replica.options()
    if let arbiter { options.arbiter = arbiter }
    let result = try replica.merger.merge(
      first: a, second: b, bases: bases, options: options, writingTo: replica.nodes)
    let entries = try Samples.entries(of: result.map)
    // The change list transforms the first predecessor's map.
    let again = try replica.record(a.number).map.applying(edits: result.edits)
    #expect(again.root.digest == result.map.root.digest)
    return Outcome(
      result: result,
      entries: Dictionary(
        uniqueKeysWithValues: entries.map {
          ($0.isDirectory ? "\($0.key.rawValue)/" : $0.key.rawValue, $0)
        }))
  }

  private func text(_ entry: Entry?) -> String? {
    guard let entry, case .inline(let bytes) = entry.stored.content else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  private let forks: (base: [String], first: [String: String], second: [String: String]) = (
    ["u1", "u2", "uu", "same", "r1", "r2", "rr", "ru", "ur", "keep"],
    [
      "u1": "1", "uu": "1", "same": "s", "r1": "", "rr": "", "ru": "",
      "ur": "1", "i1": "1", "ii": "1",
    ],
    [
      "u2": "2", "uu": "2", "same": "s", "r2": "", "rr": "", "ru": "2",
      "ur": "", "i2": "2", "ii": "2",
    ]
  )

  private func edits(_ table: [String: String], _ number: UInt32) -> [MapEdit] {
    table.map { key, text in
      text.isEmpty ? .remove(Key(key), directory: false) : put(key, text, number)
    }
  }

  @Test("every kind of fork, by the change that is most recent")
  func mostRecentChange() throws {
    let outcome = try merge(
      base: forks.base.map { put($0, "0", 1) }, first: edits(forks.first, 2),
      second: edits(forks.second, 3))
    #expect(
      outcome.entries.mapValues { text($0) } == [
        "u1": "1", "u2": "2", "uu": "2", "same": "s", "ru": "2", "ur": "1", "keep": "0", "i1": "1",
        "i2": "2", "ii": "2",
      ])
    #expect(outcome.entries["same"]?.storedVersion == VersionNumber(2))
    var told: [String] = []
    for change in outcome.result.changes {
      switch change {
      case .preserve(let entry): told.append("preserve \(entry.key.rawValue)")
      case .preserveRemoval(let key): told.append("preserveRemoval \(key.rawValue)")
      default: told.append("other")
      }
    }
    #expect(
      told == [
        "preserve i2", "preserve ii", "preserveRemoval r2", "preserve ru", "preserve u2",
        "preserve uu",
      ])
    #expect(outcome.result.dropped.map(\.key.rawValue) == ["ii", "ru", "ur", "uu"])
    #expect(outcome.result.dropped.map(\.side) == [.first, .first, .second, .first])
    #expect(outcome.result.dropped.map { $0.entry == nil } == [false, true, true, false])
  }

  @Test("every kind of fork, by the branch that is most recent, and from one side")
  func otherArbiters() throws {
    let branch = try merge(
      base: forks.base.map { put($0, "0", 1) }, first: edits(forks.first, 2),
      second: edits(forks.second, 3), arbiter: MostRecentBranchClashArbiter())
    #expect(
      branch.entries.mapValues { text($0) } == [
        "u1": "1", "u2": "2", "uu": "2", "same": "s", "ru": "2", "keep": "0", "i1": "1", "i2": "2",
        "ii": "2",
      ])
    let ours = try MapMergeTests().merge(
      base: forks.base.map { put($0, "0", 1) }, first: edits(forks.first, 2),
      second: edits(forks.second, 3), arbiter: OneSideClashArbiter(.first))
    #expect(
      ours.entries.mapValues { text($0) } == [
        "u1": "1", "u2": "2", "uu": "1", "same": "s", "ur": "1", "keep": "0", "i1": "1", "i2": "2",
        "ii": "1",
      ])
  }

  @Test("attributes merge field by field beside the bytes, and alone lose to a removal")
  func attributes() throws {
    let base = ["edit", "both", "gone"].map { key in
      put(key, "0", 1) {
        $0.attributes = Attributes(
          mode: 0o644, mtime: .init(seconds: 5, nanoseconds: 0),
          extended: [.init(name: Array("user.a".utf8), value: [0])])
      }
    }
    let outcome = try merge(
      base: base,
      first: [
        put("edit", "1", 2) {
          $0.attributes = Attributes(
            mode: 0o644, mtime: .init(seconds: 9, nanoseconds: 0),
            extended: [.init(name: Array("user.a".utf8), value: [0])])
        },
        put("both", "0", 1) {
          $0.attributes = Attributes(mode: 0o600, mtime: .init(seconds: 8, nanoseconds: 0), uid: 7)
        },
        put("gone", "0", 1) { $0.attributes = Attributes(mode: 0o600) },
      ],
      second: [
        put("edit", "0", 1) {
          $0.attributes = Attributes(
            mode: 0o755, mtime: .init(seconds: 5, nanoseconds: 0),
            extended: [
              .init(name: Array("user.a".utf8), value: [0]),
              .init(name: Array("user.b".utf8), value: [1]),
            ])
        },
        put("both", "0", 1) {
          $0.attributes = Attributes(
            mode: 0o700, mtime: .init(seconds: 7, nanoseconds: 0),
            extended: [.init(name: Array("user.a".utf8), value: [2])])
        },
        .remove(Key("gone"), directory: false),
      ])
    #expect(text(outcome.entries["edit"]) == "1")
    #expect(
      outcome.entries["edit"]?.attributes
        == Attributes(
          mode: 0o755, mtime: .init(seconds: 9, nanoseconds: 0),
          extended: [
            .init(name: Array("user.a".utf8), value: [0]),
            .init(name: Array("user.b".utf8), value: [1]),
          ]))
    // The second is newer: its mode and its attribute, the later mtime, and what only one recorded.
    #expect(
      outcome.entries["both"]?.attributes
        == Attributes(
          mode: 0o700, mtime: .init(seconds: 8, nanoseconds: 0), uid: 7,
          extended: [.init(name: Array("user.a".utf8), value: [2])]))
    #expect(outcome.entries["gone"] == nil)
    #expect(outcome.result.changes == [.preserveRemoval(Key("gone"))])
  }

  @Test("a directory that one side removed stays where the other added below it")
  func directories() throws {
    let outcome = try merge(
      base: ["d", "d/e", "f", "g", "g/h"].map { .put(Samples.directory($0)) },
      first: [
        .remove(Key("f"), directory: true), put("d/e/new", "1", 2),
        .remove(Key("g"), directory: true), .remove(Key("g/h"), directory: true),
        .put(Samples.directory("a")),
      ],
      second: [
        .remove(Key("d"), directory: true), .remove(Key("d/e"), directory: true),
        put("g/h/new", "2", 3), .put(Samples.directory("b")),
      ])
    #expect(
      Set(outcome.entries.keys) == ["d/", "d/e/", "d/e/new", "g/", "g/h/", "g/h/new", "a/", "b/"])
    #expect(outcome.result.changes.count == 1)
  }

  @Test(
    "histories without a common ancestor are refused unless every root is empty or they are told to"
  )
  func unrelated() throws {
    let a = try replica.author(
      on: nil, id: Version.ID("A"), timestamp: 1, edits: [put("a", "1", 1)])
    let b = try replica.author(on: nil, id: Version.ID("B"), timestamp: 1, edits: [])
    let c = try replica.author(on: nil, id: Version.ID("C"), timestamp: 1, edits: [])
    let d = try replica.author(on: b, id: Version.ID("D"), timestamp: 2, edits: [put("d", "1", 4)])
    #expect(throws: StoreError.self) { try replica.merger.plan(a, d) }
    #expect(try replica.merger.plan(a, d, allowingUnrelated: true) == .merge(bases: []))
    #expect(try replica.merger.plan(c, d) == .merge(bases: []))
    #expect(try replica.merger.plan(b, d) == .fastForward(d))
    #expect(try replica.merger.plan(d, d) == .fastForward(d))
  }

  @Test("criss-cross merges have a virtual base in which what clashed is absent")
  func crissCross() throws {
    let root = try replica.author(
      on: nil, id: Version.ID("R"), timestamp: 1, edits: [put("k", "0", 1), put("l", "0", 1)])
    let a = try replica.author(
      on: root, id: Version.ID("A"), timestamp: 2, edits: [put("k", "1", 2)])
    let b = try replica.author(
      on: root, id: Version.ID("B"), timestamp: 3, edits: [put("k", "2", 3), put("l", "2", 3)])
    func cross(_ arbiter: MergeSide, _ id: String) throws -> HistoryNode {
      var options = replica.options()
      options.arbiter = OneSideClashArbiter(arbiter)
      let result = try replica.merger.merge(
        first: a, second: b, bases: [root], options: options, writingTo: replica.nodes)
      return try replica.add(
        Version(
          id: Version.ID(id), predecessors: .init(idOfFirst: a.id, idOfSecond: b.id), timestamp: 4),
        map: result.map, changes: [:])
    }
    let left = try cross(.first, "X")
    let right = try cross(.second, "Y")
    guard case .merge(let bases) = try replica.merger.plan(left, right) else {
      throw StoreError.invalid("no merge is planned")
    }
    #expect(bases.map(\.id) == [a.id, b.id])
    let before = replica.nodes.written
    let base = try replica.merger.baseMap(bases.map(\.number), of: left.number, right.number)
    #expect(try base.entry(at: Key("k")) == nil)
    #expect(text(try base.entry(at: Key("l"))) == "2")
    let result = try replica.merger.merge(
      first: left, second: right, bases: bases, options: replica.options(),
      writingTo: OverlayNodes(over: replica.nodes))
    #expect(replica.nodes.written == before)
    #expect(result.dropped.map(\.key.rawValue) == ["k"])
    #expect(text(try result.map.entry(at: Key("k"))) == "2")
  }

  @Test("a value that both sides of criss-cross merges made is the base of later changes")
  func crissCrossOfThree() throws {
    let root = try replica.author(
      on: nil, id: Version.ID("R"), timestamp: 1, edits: [put("k", "0", 1)])
    let edits = try ["1", "2", "3"].enumerated().map { index, text in
      try replica.author(
        on: root, id: Version.ID("E\(text)"), timestamp: Double(2 + index),
        edits: [put("k", text, UInt32(2 + index))])
    }
    /// A merge with the result of all three edits, as an arbiter of bytes makes.
    func merge(_ a: HistoryNode, _ b: HistoryNode, _ id: String, _ text: String) throws
      -> HistoryNode
    {
      let number = replica.nextNumber
      let map = try replica.record(a.number).map.applying(edits: [put("k", text, number.rawValue)])
      return try replica.add(
        Version(
          id: Version.ID(id), predecessors: .init(idOfFirst: a.id, idOfSecond: b.id), timestamp: 5),
        map: map, changes: [:])
    }
    let left = try merge(try merge(edits[0], edits[1], "L1", "12"), edits[2], "L2", "123")
    let right = try merge(try merge(edits[1], edits[2], "M1", "23"), edits[0], "M2", "123")
    let removal = try replica.author(
      on: left, id: Version.ID("D"), timestamp: 6, edits: [.remove(Key("k"), directory: false)])
    guard case .merge(let bases) = try replica.merger.plan(removal, right) else {
      throw StoreError.invalid("no merge is planned")
    }
    #expect(bases.map(\.id) == edits.map(\.id))
    for (first, second) in [(removal, right), (right, removal)] {
      let base = try replica.merger.baseMap(bases.map(\.number), of: first.number, second.number)
      #expect(text(try base.entry(at: Key("k"))) == "123")
      let result = try replica.merger.merge(
        first: first, second: second, bases: bases, options: replica.options(),
        writingTo: OverlayNodes(over: replica.nodes))
      #expect(result.dropped.isEmpty)
      #expect(try result.map.entry(at: Key("k")) == nil)
    }
  }
}
