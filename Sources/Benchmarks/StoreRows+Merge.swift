import LLVSCore
import Platform

extension StoreRows {
  private static let changes = 1000

  /// The keys that the two sides of a merge change; they have no key in common.
  private enum Layout: String, CaseIterable {
    /// Keys all over the store; both sides change the same leaves.
    case spread = "spread"
    /// Keys in one directory, alternating between the sides.
    case directory = "in one directory"

    func keys(of side: Int, _ count: Int) -> [Int] {
      switch self {
      case .spread: (0..<changes).map { $0 * (count / changes) + side }
      case .directory: (0..<changes).map { $0 * 2 + side }
      }
    }
  }

  /// Merges two sides of a thousand changes each, in stores of several sizes: the cost of a merge
  /// must grow with the changes, not with the store.
  static func merge(_ context: BenchContext) throws -> [BenchFigure] {
    try BenchProcess.requireGit()
    var figures: [BenchFigure] = []
    for count in context.scale.pick([10_000, 100_000], [10_000, 100_000, 1_000_000]) {
      // With a million files, git would take longer than everything else.
      figures += try merge(context, count, withGit: count <= 100_000)
      try context.endRow()
    }
    let large = figures.suffix(2)
    // From 100,000 values on every change is in a leaf of its own, so that these sizes can be
    // compared; with all changes in one directory all sizes can be compared.
    let small = context.scale.pick(figures.prefix(2), figures.prefix(4).suffix(2))
    for (large, small) in zip(large, small).dropFirst(context.scale.pick(1, 0)) {
      figures.append(
        BenchFigure(
          work: "\(large.work), next to a tenth", ours: large.ours, reference: small.ours,
          against: small.work, goal: .times(atMost: 2, aim: 1.3)))
    }
    return figures
  }

  private static func merge(
    _ context: BenchContext, _ count: Int, withGit: Bool
  ) throws -> [BenchFigure] {
    let path = try context.place.directory("store")
    let repository = try GitSample(in: try context.place.directory("git"))
    if withGit { try repository.fill(count: count) }
    let sides = try sides(count, store: path, repository: withGit ? repository : nil)
    // The large sample must be on the disk and in the index before the measurement.
    try context.place.sync()
    let store = try Store.open(path: path)
    return try Layout.allCases.map { layout in
      let sides = sides[layout] ?? []
      let times = try BenchTimer.race(rounds: 7, withGit ? 2 : 1) { runner, _ in
        guard runner == 0 else { return try repository.merge("\(layout)1", into: "\(layout)0") }
        return try BenchTimer.seconds {
          let report = try store.write { (transaction) throws(StoreError) in
            try transaction.merge(sides[1], into: sides[0], line: nil)
          }
          guard report.made.count == 1, report.clashCount == 0 else {
            throw BenchError.failed("the merge is not what it should be")
          }
        }
      }
      let work = "merge 2 x \(changes) changes \(layout.rawValue), \(count) values"
      guard withGit else { return BenchFigure(work: work, ours: times[0]) }
      return BenchFigure(
        work: work, times, reference: 1, against: "git merge",
        goal: .faster(atLeast: 5, aim: 20))
    }
  }

  /// Makes the versions, and git's branches, that are merged.
  private static func sides(
    _ count: Int, store path: String, repository: GitSample?
  ) throws -> [Layout: [VersionNumber]] {
    let store = try Store.open(path: path, create: true)
    let base = try SampleStore.fill(store, count: count)
    var sides: [Layout: [VersionNumber]] = [:]
    for layout in Layout.allCases {
      for side in 0..<2 {
        let keys = layout.keys(of: side, count)
        var random = BenchRandom(UInt64(side))
        let values = keys.map {
          Value.Change.update(
            Value(id: SampleStore.key($0, of: count), data: random.bytes(200)))
        }
        sides[layout, default: []].append(
          try store.write { (transaction) throws(StoreError) in
            try transaction.makeVersion(
              basedOn: Version.Predecessors(idOfFirst: base.id), storing: values)
          }.number)
        try repository?.branch("\(layout)\(side)", changing: keys, of: count, seed: UInt64(side))
      }
    }
    return sides
  }
}
