import LLVSCore
import LLVSExchange
import Platform
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(1)))
struct StoreMergeTests {
  @discardableResult
  private func author(
    _ store: Store, on first: VersionNumber?, _ values: [String: String?], line: Branch? = nil
  ) throws -> VersionRecord {
    try store.write { (transaction) throws(StoreError) in
      let number = try transaction.reserveVersion()
      var base = ValueMap(emptyIn: transaction.nodes, cache: store.nodeCache)
      if let first, let record = try transaction.version(first) { base = store.map(of: record) }
      var edits: [MapEdit] = []
      for (key, text) in values.sorted(by: { Key($0.key) < Key($1.key) }) {
        guard let text else {
          edits.append(.remove(Key(key), directory: false))
          continue
        }
        let revision = try transaction.allotRevisions()
        edits.append(
          .put(
            Entry(
              key: Key(key), kind: .regular, attributes: Attributes(mode: 0o644),
              stored: try transaction.write(Array(text.utf8)), storedVersion: number,
              revision: revision)))
      }
      return try transaction.add(
        AuthoredVersion(
          number: number, first: first, base: base, map: try base.applying(edits: edits), line: line
        ))
    }
  }

  @Test("heads of a line merge into one version whose id everybody can compute")
  func heads() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let root = try author(store, on: nil, ["a": "0", "b": "0", "c": "0"])
    let one = try author(store, on: root.number, ["a": "1"])
    let two = try author(store, on: root.number, ["a": "2", "b": "2"])
    let three = try author(store, on: root.number, ["c": nil])
    let other = try author(
      store, on: root.number, ["z": "other"], line: Branch(rawValue: "other"))
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: one.number)
    }
    #expect(report.made.count == 2)
    #expect(report.clashCount == 1)
    let head = try #require(report.outcome)
    #expect(try store.graph.uncontainedHeads(ofLine: nil).map(\.number) == [head])
    #expect(
      try store.graph.heads(ofLine: Branch(rawValue: "other")).map(\.number) == [other.number])
    for made in report.made {
      let record = try #require(try store.version(made.record.number))
      let metadata = try store.metadata(of: record)
      #expect(record.flags.contains(.automatic))
      #expect(metadata[.digest] == Version.MetadataValue(record.map.digest.hex))
      let (one, other) = (try #require(record.first), try #require(record.second))
      let first = try #require(try store.version(one))
      let second = try #require(try store.version(other))
      let predecessors = Version.Predecessors(idOfFirst: first.id, idOfSecond: second.id)
      #expect(predecessors.idOfFirst < second.id)
      let version = Version(
        id: record.id, predecessors: predecessors, timestamp: record.timestamp, metadata: metadata)
      #expect(version.isAutomatic(contentDigest: record.map.digest))
      #expect(record.timestamp == max(first.timestamp, second.timestamp))
      var seen: Set<Location> = []
      try store.map(of: record).verify(seen: &seen) { _ throws(StoreError) in }
    }
    let record = try #require(try store.version(head))
    let map = store.map(of: record)
    #expect(map.count == 2)
    #expect(try map.entry(at: Key("a"))?.storedVersion == two.number)
    _ = three
    let again = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: one.number)
    }
    #expect(again.made.isEmpty)
    #expect(again.outcome == head || again.outcome == one.number)
  }

  @Test("three hundred heads merge into one, in the order in which pairs would be")
  func manyHeads() throws {
    let directory = try TemporaryDirectory()
    let (store, pairs) = (
      try Store.open(path: directory.file("s"), create: true),
      try Store.open(path: directory.file("t"), create: true)
    )
    let root = try author(store, on: nil, ["a": "0"])
    for number in 0..<300 {
      try author(store, on: root.number, ["f\(number)": "\(number)"])
    }
    let source = StoreSource(store)
    _ = try pairs.retrieve(from: source)
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: root.number)
    }
    #expect(report.made.count == 299)
    let head = try #require(report.outcome)
    #expect(try store.graph.uncontainedHeads(ofLine: nil).map(\.number) == [head])
    #expect(try store.version(head)?.map.count == 301)
    // The same, one pair after the other, as far as it is told within reason.
    for made in report.made.prefix(20) {
      let next = try #require(
        try pairs.graph.nextMerge(of: pairs.graph.uncontainedHeads(ofLine: nil)))
      let merged = try pairs.write { (transaction) throws(StoreError) in
        try transaction.mergeSides([next.first.number, next.second.number], live: nil)
      }
      #expect(merged.made.map(\.record.id) == [made.record.id])
    }
  }

  @Test("a merge of several heads that is given up leaves no part of it")
  func cancelled() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let root = try author(store, on: nil, ["a": "0"])
    for number in 0..<5 { try author(store, on: root.number, ["f\(number)": "1"]) }
    var asked = 0
    let error = #expect(throws: StoreError.self) {
      try store.write { (transaction) throws(StoreError) in
        try transaction.mergeHeads(
          ofLine: nil, live: root.number,
          isCancelled: {
            asked += 1
            return asked == 3
          })
      }
    }
    guard case .cancelled? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try store.state().lastNumber == 6)
    #expect(try store.graph.uncontainedHeads(ofLine: nil).count == 5)
  }

  @Test("merging another line in is authored, a dry run keeps nothing")
  func authored() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let root = try author(store, on: nil, ["a": "0"])
    let live = try author(store, on: root.number, ["a": "1"])
    let other = try author(store, on: root.number, ["a": "2"], line: Branch(rawValue: "x"))
    let dry = try store.write { (transaction) throws(StoreError) in
      try transaction.dryRun(live.number, other.number)
    }
    #expect(dry?.dropped.count == 1)
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.merge(
        other.number, into: live.number, line: nil, author: Author(name: "me"), message: "both"
      ) { _ in OneSideClashArbiter(.first) }
    }
    let made = try #require(report.made.first)
    #expect(!made.record.flags.contains(.automatic))
    #expect(made.record.line == VersionRecord.unnamedLine)
    #expect(made.changedCount == 0)
    #expect(store.map(of: made.record).contentDigest == store.map(of: live).contentDigest)
    let forward = try store.write { (transaction) throws(StoreError) in
      try transaction.merge(made.record.number, into: root.number, line: nil)
    }
    #expect(forward.made.isEmpty)
    #expect(forward.outcome == made.record.number)
  }

  @Test("unrelated histories stay apart until they are told to merge")
  func unrelated() throws {
    let directory = try TemporaryDirectory()
    let store = try Store.open(path: directory.file("s"), create: true)
    let a = try author(store, on: nil, ["a": "0"])
    let b = try author(store, on: nil, ["b": "0"])
    let report = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: a.number)
    }
    #expect(report.made.isEmpty)
    #expect(report.outcome == a.number)
    #expect(throws: StoreError.self) {
      try store.write { (transaction) throws(StoreError) in
        try transaction.merge(b.number, into: a.number, line: nil)
      }
    }
    let told = try store.write { (transaction) throws(StoreError) in
      try transaction.merge(b.number, into: a.number, allowingUnrelated: true, line: nil)
    }
    #expect(told.made.first?.record.map.count == 2)
  }
}
