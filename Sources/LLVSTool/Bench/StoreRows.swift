import Foundation
import LLVS
import Platform

/// Rows that are measured in a store, without a mount.
enum StoreRows {
  /// One value's new version, durable, beside an append that is; and opening a large store.
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
    return figures
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
      work: "one-value durable version, \(count) values", ours: times[0], reference: times[1],
      against: "append+fdatasync", goal: .times(atMost: 4, aim: 2))
  }

  /// Merges two sides of a thousand changes each.
  static func merge(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    let count = context.scale.pick(20_000, 100_000)
    let changes = 1000
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    let base = try SampleStore.fill(store, count: count)
    let repository = try GitSample(in: try context.place.directory("git"))
    try repository.fill(count: count)
    var sides: [VersionNumber] = []
    for side in 0..<2 {
      // Every other key of a stride, so that the sides touch the same leaves and no common key.
      let keys = (0..<changes).map { $0 * (count / changes) + side }
      var random = BenchRandom(UInt64(side))
      let values = keys.map {
        Value.Change.update(
          Value(id: SampleStore.key($0, of: count), data: random.bytes(200)))
      }
      sides.append(
        try store.write { (transaction) throws(StoreError) in
          try transaction.makeVersion(
            basedOn: Version.Predecessors(idOfFirst: base.id), storing: values)
        }.number)
      try repository.branch("side\(side)", changing: keys, of: count, seed: UInt64(side))
    }
    let times = try BenchTimer.race(rounds: 3, 2) { runner, _ in
      guard runner == 0 else { return try repository.merge("side1", into: "side0") }
      return try BenchTimer.seconds {
        let report = try store.write { (transaction) throws(StoreError) in
          try transaction.merge(sides[1], into: sides[0], line: nil)
        }
        guard report.made.count == 1, report.clashCount == 0 else {
          throw BenchError.failed("the merge is not what it should be")
        }
      }
    }
    return [
      BenchFigure(
        work: "merge 2 x \(changes) changes, \(count) values", ours: times[0],
        reference: times[1], against: "git merge", goal: .faster(atLeast: 5, aim: 20))
    ]
  }
}
