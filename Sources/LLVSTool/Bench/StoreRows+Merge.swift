import LLVS
import Platform

extension StoreRows {
  private static let changes = 1000

  /// Merges two sides of a thousand changes each, in stores of several sizes: what a merge costs is to
  /// grow with the changes, not with the store.
  static func merge(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    var figures: [BenchFigure] = []
    for count in context.scale.pick([10_000, 100_000], [10_000, 100_000, 1_000_000]) {
      // Git's part of a million files takes longer than all the rest.
      let figure = try merge(context, count, withGit: count <= 100_000)
      figures.append(figure)
      context.endRow()
    }
    // From 100,000 values on every change is in a leaf of its own, so those sizes can be compared.
    guard figures.count > 2 else { return figures }
    let (large, small) = (figures[2], figures[1])
    figures.append(
      BenchFigure(
        work: "\(large.work), beside a tenth", ours: large.ours, reference: small.ours,
        against: small.work, goal: .times(atMost: 4, aim: 2)))
    return figures
  }

  private static func merge(
    _ context: BenchContext, _ count: Int, withGit: Bool
  ) throws -> BenchFigure {
    let store = try Store.open(path: try context.place.directory("store"), create: true)
    let base = try SampleStore.fill(store, count: count)
    let repository = try GitSample(in: try context.place.directory("git"))
    if withGit { try repository.fill(count: count) }
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
      if withGit {
        try repository.branch("side\(side)", changing: keys, of: count, seed: UInt64(side))
      }
    }
    let times = try BenchTimer.race(rounds: 5, withGit ? 2 : 1) { runner, _ in
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
    return BenchFigure(
      work: "merge 2 x \(changes) changes, \(count) values", ours: times[0],
      reference: withGit ? times[1] : nil, against: "git merge",
      goal: withGit ? .faster(atLeast: 5, aim: 20) : .none)
  }
}
