import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LLVSCore
@testable import StoreSupport

/// Replicas that merge at the same moment, again and again: each merge has several bases.
@Suite("Virtual bases", .timeLimit(.minutes(3)))
struct VirtualBasesTests {
  private struct Pair {
    var a: VersionRecord
    var b: VersionRecord
  }

  private let directory: TemporaryDirectory
  private var path: String { directory.file("s") }

  init() throws { directory = try TemporaryDirectory(inMemory: true) }

  /// Two versions of one root that differ in every key.
  private func begin(_ store: Store) throws -> Pair {
    let keys = (0..<8).map { Key("key\($0)") }
    func values(_ text: String) -> [Value] {
      keys.map { Value(id: $0, data: Array("\(text) \($0.rawValue)".utf8)) }
    }
    // What nobody changes stays in each base.
    let others = (0..<64).map { Value(id: Key("other\($0)"), data: Array("same".utf8)) }
    let root = try store.makeVersion(
      basedOnPredecessor: nil, inserting: values("root") + others)
    let sides = try ["a", "b"].map {
      try store.makeVersion(basedOnPredecessor: root.id, updating: values($0)).id
    }
    return Pair(
      a: try #require(try store.version(sides[0])), b: try #require(try store.version(sides[1])))
  }

  /// Merges each with the other, as two replicas do that have not heard of each other's merge.
  private func cross(
    _ pair: Pair, _ text: String, in transaction: WriteTransaction
  ) throws(StoreError) -> Pair {
    func merge(
      _ first: VersionRecord, _ second: VersionRecord, _ side: String
    ) throws(StoreError) -> VersionRecord {
      let number = try transaction.reserveVersion()
      let stored = try transaction.write(Array("\(text) \(side)".utf8))
      return try transaction.addMerge(
        of: HistoryNode(first), HistoryNode(second),
        [Key("key\(number.rawValue % 8)"): .value(stored, kind: nil, storedBy: number)],
        number: number, [:])
    }
    return Pair(a: try merge(pair.a, pair.b, "a"), b: try merge(pair.b, pair.a, "b"))
  }

  /// The base that a merge of both has.
  private func base(_ pair: Pair, in store: Store) throws -> ValueMap {
    let merger = Merger(graph: store.graph, maps: store.history)
    let bases = try store.graph.commonAncestors(pair.a.number, pair.b.number)
    #expect(bases.count == 2)
    return try merger.baseMap(bases.map(\.number), of: pair.a.number, pair.b.number)
  }

  @Test("each is made once, and a history of any length has them without the stack of a thread")
  func once() throws {
    let rounds = 600
    var last: Pair
    let digest: Digest
    do {
      let store = try Store.open(path: path, create: true)
      last = try begin(store)
      for _ in 0..<4 {
        last = try store.write { [last] (transaction) throws(StoreError) in
          var pair = last
          for round in 0..<rounds / 4 { pair = try cross(pair, "\(round)", in: transaction) }
          return pair
        }
      }
      // That of the last pair was not asked for yet.
      #expect(store.history.bases.count == rounds - 1)
      digest = try base(last, in: store).contentDigest
      #expect(try base(last, in: store).contentDigest == digest)
      #expect(store.history.bases.count == rounds)
    }
    let store = try Store.open(path: path)
    let found = Mutex<Result<Digest, any Error>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    let thread = Thread { [last] in
      let result = Result { try base(last, in: store).contentDigest }
      found.withLock { $0 = result }
      isDone.signal()
    }
    thread.stackSize = 256 << 10
    thread.start()
    isDone.wait()
    #expect(try found.withLock { $0 }?.get() == digest)
    #expect(store.history.bases.count == rounds)
  }

  @Test("those of versions that were never committed are forgotten with them")
  func undone() throws {
    let store = try Store.open(path: path, create: true)
    let pair = try begin(store)
    var lost: [VersionNumber] = []
    // Ids are by chance, and with them the order of bases.
    for _ in 0..<8 {
      #expect(throws: StoreError.self) {
        try store.write { (transaction) throws(StoreError) in
          let first = try cross(pair, "lost", in: transaction)
          lost = [first.a.number, first.b.number]
          _ = try cross(try cross(first, "more", in: transaction), "most", in: transaction)
          throw .cancelled
        }
      }
    }
    let (first, second) = try store.write { (transaction) throws(StoreError) in
      let first = try cross(pair, "kept", in: transaction)
      return (first, try cross(first, "then", in: transaction))
    }
    #expect(lost == [first.a.number, first.b.number])
    let fresh = try Store.open(path: path, mode: .reader)
    #expect(try base(second, in: store).contentDigest == base(second, in: fresh).contentDigest)
  }

  @Test("when they take too much they are let go of, and made again")
  func bounded() throws {
    let store = try Store.open(path: path, create: true)
    let pair = try begin(store)
    let last = try store.write { (transaction) throws(StoreError) in
      var last = pair
      for round in 0..<40 { last = try cross(last, "\(round)", in: transaction) }
      return last
    }
    let merger = Merger(graph: store.graph, maps: store.history)
    let tight = VirtualBases(over: store.records, limit: 2000)
    let before = tight.current()
    let numbers = try store.graph.commonAncestors(last.a.number, last.b.number).map(\.number)
    let map = try BaseMaker(merger: merger, known: KnownBases(before)).map(of: numbers)
    #expect(before.overlay.byteCount > 2000)
    #expect(tight.current() !== before && tight.count == 0)
    let again = try BaseMaker(merger: merger, known: KnownBases(tight.current())).map(of: numbers)
    #expect(again.contentDigest == map.contentDigest)
  }
}
