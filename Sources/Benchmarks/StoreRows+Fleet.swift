import Control
import Grammar
import LLVSCore
import Platform

/// Measures stores that merge again and again, and merges that leave thousands of conflicts.
extension StoreRows {
  private static let members = 6

  /// Runs six stores that make a version each, retrieve the versions of two others and merge, all
  /// at the same time. No two of them merge the same heads, so each merge has several bases, which
  /// are such merges too.
  ///
  /// The cost of a round must not grow with the number of earlier rounds.
  static func crisscross(_ context: BenchContext) throws -> [BenchFigure] {
    let rounds = context.scale.pick(24, 120)
    var random = BenchRandom(13)
    let folders = try (0..<members).map { try context.place.directory("folder\($0)") }
    let stores = try (0..<members).map {
      try Store.open(path: try context.place.directory("store\($0)"), create: true)
    }
    let values = 200
    let first = try SampleStore.fill(stores[0], count: values)
    try Format.bundles.send(stores[0], to: folders[0])
    for store in stores.dropFirst() { try Format.bundles.retrieve(into: store, from: folders[0]) }
    var heads = [Version.ID](repeating: first.id, count: members)
    var times: [Double] = []
    var counts: [Int] = []
    for round in 0..<rounds {
      times.append(
        try BenchTimer.seconds {
          for (index, store) in stores.enumerated() {
            let key = SampleStore.key(Int(random.next() % UInt64(values)), of: values)
            _ = try store.makeVersion(
              basedOnPredecessor: heads[index],
              updating: [Value(id: key, data: random.bytes(200))])
            try Format.bundles.send(store, to: folders[index])
          }
          for (index, store) in stores.enumerated() {
            for step in [1, 2 + round % (members - 2)] {
              try Format.bundles.retrieve(into: store, from: folders[(index + step) % members])
            }
            let outcome = try store.write { (transaction) throws(StoreError) in
              try transaction.mergeHeads(ofLine: nil, live: nil).outcome
            }
            guard let outcome, let head = try store.version(outcome) else {
              throw BenchError.failed("the heads were not merged")
            }
            heads[index] = head.id
          }
        })
      counts.append(Int(stores[0].lastNumber))
    }
    let part = rounds / 6
    let early = BenchTimer.median(Array(times[part..<2 * part]))
    let late = BenchTimer.median(Array(times.suffix(part)))
    let work = "\(members) stores merge criss-cross, a round"
    let before = "at \(counts[2 * part - 1]) versions"
    return [
      BenchFigure(work: "\(work), \(before)", ours: early),
      BenchFigure(
        work: "\(work), at \(counts[rounds - 1])", ours: late, reference: early, against: before,
        goal: .times(atMost: 3, aim: 1.5)),
    ]
  }

  /// Settles a few of many open conflicts: the cost of one must not grow with the number of the
  /// others.
  static func settle(_ context: BenchContext) throws -> [BenchFigure] {
    let few = try settle(context, 20)
    let many = try settle(context, context.scale.pick(2000, 10_000))
    return [
      BenchFigure(work: "merge that leaves \(many.count) conflicts", ours: many.merged),
      BenchFigure(work: "status beside \(many.count) conflicts", ours: many.status),
      BenchFigure(
        work: "settle one of \(many.count) conflicts", ours: many.settled,
        reference: few.settled, against: "one of \(few.count)", goal: .times(atMost: 5, aim: 2)),
    ]
  }

  private struct Settling {
    var count: Int
    /// The seconds of the merge, of a status, and of settling one conflict.
    var merged: Double
    var status: Double
    var settled: Double
  }

  private static func settle(_ context: BenchContext, _ count: Int) throws -> Settling {
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    let base = try SampleStore.fill(store, count: count, isHead: true)
    var random = BenchRandom(17)
    let sides = try (0..<2).map { _ in
      try store.makeVersion(
        basedOnPredecessor: base.id,
        updating: (0..<count).map {
          Value(id: SampleStore.key($0, of: count), data: random.bytes(200))
        })
    }
    let service = try ControlService.open(store)
    func run(_ words: String...) throws {
      try service.run(words.map { Array($0.utf8) })
    }
    let merged = try BenchTimer.seconds { try run("merge") }
    func conflicts() throws -> Int {
      guard let head = try store.state().head else { return 0 }
      return try store.openConflicts(at: head).count
    }
    guard try conflicts() == count else {
      throw BenchError.failed("\(sides.count) sides do not clash everywhere")
    }
    let status = try BenchTimer.seconds { _ = try service.status() }
    let settled = try (0..<10).map { index in
      let path = SampleStore.key(index, of: count).rawValue
      return try BenchTimer.seconds { try run("settle", path, "theirs") }
    }
    guard try conflicts() == count - settled.count else {
      throw BenchError.failed("what was settled is still open")
    }
    return Settling(
      count: count, merged: merged, status: status, settled: BenchTimer.median(settled))
  }
}
