import Foundation
import LLVSCore
import Platform

/// The rows that are measured in a store, without a mount.
enum StoreRows {
  /// Measures a new durable version of one value next to a durable append, and opening a large
  /// store.
  static func version(_ context: BenchContext) throws -> [BenchFigure] {
    let count = context.scale.pick(100_000, 1_000_000)
    let versions = context.scale.pick(5000, 100_000)
    let path = try context.place.directory("store")
    var figures: [BenchFigure] = []
    do {
      let store = try Store.open(path: path, create: true)
      var last = try SampleStore.fill(store, count: count)
      figures.append(
        try oneValue(context, store, &last, count, rounds: context.scale.pick(300, 1000)))
      let made = try BenchTimer.seconds {
        last = try SampleStore.extend(store, from: last, values: count, versions: versions)
      }
      figures.append(
        BenchFigure(
          work: "one-value version, 1,000 in a transaction", ours: made / Double(versions)))
    }
    let key = SampleStore.key(count / 2, of: count)
    var opened: [Double] = []
    var first: [Double] = []
    for _ in 0..<7 {
      var store: Store?
      opened.append(try BenchTimer.seconds { store = try Store.open(path: path) })
      first.append(
        try BenchTimer.seconds {
          guard let store, let head = try store.headNumbers().first,
            let record = try store.version(head),
            try store.map(of: record).entry(at: key) != nil
          else { throw BenchError.failed("the store does not hold what was put there") }
        })
      store = nil
    }
    let title = "store of \(versions) versions, \(count) values"
    figures.append(
      BenchFigure(
        work: "open a \(title)", ours: BenchTimer.median(opened),
        goal: .within(atMost: 0.05, aim: 0.01)))
    figures.append(
      BenchFigure(work: "its heads and one value, first time", ours: BenchTimer.median(first)))
    return try figures + ancestors(try Store.open(path: path), versions)
  }

  /// Measures the search for common ancestors of heads if one of them is as old as the store.
  private static func ancestors(_ store: Store, _ versions: Int) throws -> [BenchFigure] {
    guard let head = try store.headNumbers().last, let first = try store.version(VersionNumber(1))
    else { throw BenchError.failed("the store has no versions") }
    let old = try store.makeVersion(
      basedOnPredecessor: first.id, inserting: [Value(id: Value.ID("side"), data: [1])])
    guard let side = try store.version(old.id)?.number else {
      throw BenchError.failed("a version that was made is not there")
    }
    var times: [Double] = []
    for _ in 0..<5 {
      times.append(
        try BenchTimer.seconds {
          let found = try store.graph.commonAncestors(side, head).map(\.number)
          guard found == [first.number], try store.graph.uncontainedHeads(ofLine: nil).count == 2
          else { throw BenchError.failed("the heads have nothing in common") }
        })
    }
    let work = "what a head \(versions) versions old has in common with the newest"
    return [
      BenchFigure(work: "\(work), first time", ours: times[0]),
      BenchFigure(work: "\(work), again", ours: BenchTimer.median(Array(times.dropFirst()))),
    ]
  }

  private static func oneValue(
    _ context: BenchContext, _ store: Store, _ last: inout VersionRecord, _ count: Int, rounds: Int
  ) throws -> BenchFigure {
    var random = BenchRandom(3)
    let log = try File("\(context.place.path)/log", [.readWrite, .create])
    let block = random.bytes(16_384)
    var offset: UInt64 = 0
    var version = last.id
    let times = try BenchTimer.race(rounds: rounds, 2) { runner, _ in
      guard runner == 0 else {
        return try BenchTimer.seconds {
          try log.write(block, at: offset)
          try log.syncData()
          offset += UInt64(block.count)
        }
      }
      let key = SampleStore.key(Int(random.next() % UInt64(count)), of: count)
      let value = Value(id: key, data: random.bytes(200))
      return try BenchTimer.seconds {
        version = try store.makeVersion(basedOnPredecessor: version, updating: [value]).id
      }
    }
    guard let record = try store.version(version) else {
      throw BenchError.failed("a version that was made is not there")
    }
    last = record
    return BenchFigure(
      work: "one-value durable version, \(count) values", times, reference: 1,
      against: "append+fdatasync", goal: .times(atMost: 4, aim: 2))
  }
}
