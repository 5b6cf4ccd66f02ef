import LLVSCore
import LLVSExchange
import TestSupport
import Testing

@testable import StoreSupport

@Suite(.timeLimit(.minutes(2)))
struct ManyHeadsTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Makes a head of many values and many heads of one each, all on one version: about every second merge takes
  /// all of the many values, since the smaller id comes first.
  private static func fill(
    _ store: Store, on root: Version.ID?, values: Int, heads: Int
  ) throws -> Version.ID {
    let first = try store.makeVersion(
      basedOnPredecessor: root,
      inserting: [Value(id: Value.ID("start"), data: [0])])
    try store.makeVersion(
      basedOnPredecessor: first.id,
      inserting: (0..<values).map { Value(id: Value.ID("many/\($0)"), data: [1]) })
    for head in 0..<heads {
      try store.makeVersion(
        basedOnPredecessor: first.id,
        inserting: [Value(id: Value.ID("one/\(head)"), data: [2])])
    }
    return first.id
  }

  @Test("heads that are merged in several transactions come to the versions that one makes")
  func severalTransactions() throws {
    let (store, other) = (
      try Store.open(path: directory.file("s"), create: true),
      try Store.open(path: directory.file("t"), create: true)
    )
    let root = try Self.fill(store, on: nil, values: 50, heads: 40)
    _ = try other.retrieve(from: StoreSource(store))
    let live = try #require(try store.version(root)).number
    let whole = try store.write { (transaction) throws(StoreError) in
      try transaction.mergeHeads(ofLine: nil, live: live)
    }
    #expect(whole.isWhole)
    let there = try #require(try other.version(root)).number
    var made: [Version.ID] = []
    var left = try other.graph.uncontainedHeads(ofLine: nil).count
    #expect(left == 41)
    var transactions = 0
    while true {
      let report = try other.write { (transaction) throws(StoreError) in
        try transaction.mergeHeads(ofLine: nil, live: there, upTo: 60)
      }
      transactions += 1
      made += report.made.map(\.record.id)
      let now = try other.graph.uncontainedHeads(ofLine: nil).count
      #expect(now == left - report.made.count)
      left = now
      // No more than one merge is begun after the bound.
      #expect(report.changedCount < 60 + 91)
      guard !report.isWhole else {
        let outcome = try #require(report.outcome)
        #expect(try other.version(outcome)?.id == made.last)
        break
      }
      #expect(!report.made.isEmpty && now > 1)
    }
    #expect(left == 1)
    #expect(transactions > 2)
    #expect(made == whole.made.map(\.record.id))
  }
}
