import TestSupport
import Testing

@testable import LLVSCore
@testable import LLVSExchange
@testable import StoreSupport

/// Merges of texts and JSON in stores: what does not clash is taken from both sides, what is dropped is
/// listed, and every replica comes to the same.
@Suite(.timeLimit(.minutes(2)))
struct PartialMergeTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory(inMemory: true) }

  private func store(_ name: String) throws -> Store {
    try Store.open(path: directory.file(name), mode: .writer, create: true)
  }

  private func value(_ key: String, _ text: String) -> Value {
    Value(id: Value.ID(key), data: Array(text.utf8))
  }

  @discardableResult
  private func merge(
    _ store: Store, _ method: ContentArbiter.Method = .automatic
  ) throws -> VersionRecord {
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: nil) {
        ContentArbiter(method, $0, store.contents)
      }
    }
    return try require(store.version(require(report.outcome)))
  }

  private func text(_ key: String, _ store: Store, _ head: VersionRecord) throws -> String? {
    try store.value(id: Value.ID(key), at: head.id).map { String(decoding: $0.data, as: UTF8.self) }
  }

  /// Makes a head for each text, in this order, on a version that holds the first.
  private func fork(_ store: Store, _ key: String, _ base: String, _ sides: [String]) throws {
    let root = try store.makeVersion(basedOnPredecessor: nil, inserting: [value(key, base)])
    for side in sides {
      try store.makeVersion(basedOnPredecessor: root.id, updating: [value(key, side)])
    }
  }

  @Test("where one line clashes the other side's other lines are taken, and it is listed")
  func oneLine() throws {
    let store = try store("s")
    let lines = (1...9).map { "L\($0)\n" }
    var (a, b) = (lines, lines)
    (a[0], a[8], b[0]) = ("L1-A\n", "L9-A\n", "L1-B\n")
    try fork(store, "long.txt", lines.joined(), [a.joined(), b.joined()])
    let head = try merge(store)
    b[8] = "L9-A\n"
    #expect(try text("long.txt", store, head) == b.joined())
    let conflict = try #require(try store.openConflicts(at: head.number).first)
    #expect(conflict.key.rawValue == "long.txt" && conflict.theirs.count == 1)
    let dropped = try #require(conflict.theirs.first?.entry)
    #expect(try store.contents.bytes(dropped.stored, atMost: 1000) == Array(a.joined().utf8))
    // Whoever settles it closes it.
    let settled = try store.makeVersion(
      settling: [Value.ID("long.txt")], basedOnPredecessor: head.id)
    let number = try #require(try store.version(settled.id)).number
    #expect(try store.openConflicts(at: number).isEmpty)
  }

  @Test("where one property clashes the other side's other properties are taken")
  func oneProperty() throws {
    let store = try store("s")
    try fork(
      store, "o.json", #"{"a":1,"b":1,"c":1}"#, [#"{"a":2,"b":5,"c":1}"#, #"{"a":3,"b":1,"c":1}"#])
    let head = try merge(store)
    #expect(try text("o.json", store, head) == #"{"a":3,"b":5,"c":1}"#)
    #expect(try store.openConflicts(at: head.number).map(\.key.rawValue) == ["o.json"])
  }

  @Test("what both append stays, the older first, and is no conflict")
  func appended() throws {
    let store = try store("s")
    try fork(store, "log.md", "x\n", ["x\n- from B\n", "x\n- from A\n", "x\n- from C\n"])
    let head = try merge(store)
    #expect(try text("log.md", store, head) == "x\n- from B\n- from A\n- from C\n")
    #expect(try store.openConflicts(at: head.number).isEmpty)
  }

  @Test("union keeps both where lines clash, also of a file that both made, and lists nothing")
  func union() throws {
    let store = try store("s")
    let root = try store.makeVersion(
      basedOnPredecessor: nil, inserting: [value("a", "1\n2\n3\n"), value("z", "")])
    try store.makeVersion(
      basedOnPredecessor: root.id, inserting: [value("new", "one\nboth\n")],
      updating: [value("a", "A\n2\n3\n")])
    try store.makeVersion(
      basedOnPredecessor: root.id, inserting: [value("new", "both\ntwo\n")],
      updating: [value("a", "B\n2\n4\n")])
    let head = try merge(store, .union)
    #expect(try text("a", store, head) == "A\nB\n2\n4\n")
    #expect(try text("new", store, head) == "one\nboth\ntwo\n")
    #expect(try store.openConflicts(at: head.number).isEmpty)
  }

  @Test("a merge that takes one side whole refers to it and stores nothing")
  func wholeSide() throws {
    let store = try store("s")
    try fork(store, "a", "1\n", ["2\n", "3\n"])
    let head = try merge(store)
    let newest = try store.versionsNewestFirst(before: head, limit: 1).first
    let held = try store.map(of: head).entry(at: Key("a"))
    #expect(held?.storedVersion == newest?.number)
    #expect(try store.openConflicts(at: head.number).count == 1)
  }

  @Test("replicas that take heads in any order make the same merges of them", arguments: 1...12)
  func convergence(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let (one, two) = (try store("one"), try store("two"))
    let isJSON = Bool.random(using: &random)
    func render(_ values: [Int]) -> String {
      isJSON
        ? "{" + values.enumerated().map { "\"p\($0)\": \($1)" }.joined(separator: ", ") + "}"
        : values.enumerated().map { "place \($0) holds \($1)\n" }.joined()
    }
    let base = Array(repeating: 0, count: 12)
    var sides: [[Int]] = []
    for number in 1...Int.random(in: 2...5, using: &random) {
      sides.append(base.map { Int.random(in: 0..<4, using: &random) == 0 ? number : $0 })
    }
    try fork(one, "a", render(base), sides.map(render))
    _ = try two.retrieve(from: StoreSource(one))
    let (here, there) = (try merge(one), try merge(two))
    #expect(here.id == there.id, "seed \(seed)")
    let result = try #require(try text("a", one, here))
    // At each place the newest of those that changed it.
    let expected = base.indices.map { place in sides.last { $0[place] != 0 }?[place] ?? 0 }
    #expect(result == render(expected), "seed \(seed)")
    let clashes = base.indices.contains { place in sides.count { $0[place] != 0 } > 1 }
    for (store, head) in [(one, here), (two, there)] {
      #expect(try store.openConflicts(at: head.number).isEmpty == !clashes, "seed \(seed)")
    }
    #expect(try two.verify().damage.isEmpty)
  }

  @Test("the bytes of a merge do not depend on which side is first")
  func sides() throws {
    let store = try store("s")
    try fork(store, "a", "1\n2\nx\n", ["one\n2\nx\nold\n", "eins\nzwei\nx\nnew\n"])
    let heads = try store.graph.uncontainedHeads(ofLine: nil)
    let versions = try heads.map { try #require(try store.version($0.number)) }
    var results: [[UInt8]] = []
    for (a, b) in [(0, 1), (1, 0)] {
      let arbiter = ContentArbiter(.text, store.graph, store.contents)
      let root = try require(store.version(require(heads[0].first)))
      let clash = MergeClash(
        key: Key("a"), base: try store.map(of: root).entry(at: Key("a")),
        first: try store.map(of: versions[a]).entry(at: Key("a")),
        second: try store.map(of: versions[b]).entry(at: Key("a")), firstVersion: heads[a],
        secondVersion: heads[b])
      guard case .bytes(let bytes, _, let dropped) = try arbiter.decide(clash) else { continue }
      results.append(bytes)
      #expect(dropped == [try clash.newerSide(in: store.graph).other])
    }
    #expect(results == Array(repeating: Array("eins\nzwei\nx\nold\nnew\n".utf8), count: 2))
  }
}
