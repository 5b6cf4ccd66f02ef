import LLVSCore
import Platform

/// The published figures of the original LLVS, measured on another day: only their order of
/// magnitude counts.
extension StoreRows {
  /// The best of its back-ends at 10,000 values with keys that suit it; exchange of 1,000 versions;
  /// in seconds.
  private enum Original {
    static let initialVersion = 5.41
    static let update = 0.0029
    static let reads = 0.084
    static let difference = 0.0072
    static let versions = 16.7
    static let reopen = 0.25
    static let send = 0.79
    static let retrieve = 3.19
  }

  static func original(_ context: BenchContext) throws -> [BenchFigure] {
    let count = 10_000
    let path = try context.place.directory("store")
    var random = BenchRandom(5)
    let keys = (0..<count).map { _ in Key(Version.ID.random().rawValue) }
    var figures: [BenchFigure] = []
    func add(_ work: String, _ ours: Double, _ reference: Double) {
      figures.append(
        BenchFigure(
          work: work, ours: ours, reference: reference, against: "the original",
          goal: .faster(atLeast: 10, aim: 100)))
    }
    do {
      let store = try Store.open(path: path, create: true)
      let values = keys.map { Value(id: $0, data: random.bytes(200)) }
      var version: Version.ID?
      add(
        "first version of \(count) values",
        try BenchTimer.seconds {
          version = try store.makeVersion(basedOnPredecessor: nil, inserting: values).id
        }, Original.initialVersion)
      let first = version
      var updates: [Double] = []
      for _ in 0..<100 {
        let value = Value(
          id: keys[Int(random.next() % UInt64(count))], data: random.bytes(200))
        updates.append(
          try BenchTimer.seconds {
            version = try store.makeVersion(basedOnPredecessor: version, updating: [value]).id
          })
      }
      add("one-value version, durable", BenchTimer.median(updates), Original.update)
      guard let first, let last = version else { throw BenchError.failed("no version was made") }
      add(
        "1,000 reads",
        try BenchTimer.seconds {
          for index in 0..<1000 {
            _ = try store.value(idString: keys[index * 7].rawValue, at: last)
          }
        }, Original.reads)
      add(
        "difference of 100 changes (theirs: of 10)",
        try BenchTimer.seconds {
          _ = try store.valueChanges(madeBetween: first, and: last)
        }, Original.difference)
      add(
        "10,000 versions of one value, one by one",
        try BenchTimer.seconds {
          for index in 0..<10_000 {
            version = try store.makeVersion(
              basedOnPredecessor: version,
              updating: [Value(id: keys[index], data: random.bytes(200))]
            ).id
          }
        }, Original.versions)
    }
    add(
      "reopen with 10,000 versions",
      try BenchTimer.seconds { _ = try Store.open(path: path) }, Original.reopen)
    try exchangeAsOriginal(context, add)
    figures.append(try filesAlone(context))
    return figures
  }

  private static func exchangeAsOriginal(
    _ context: BenchContext, _ add: (String, Double, Double) -> Void
  ) throws {
    let store = try Store.open(path: try context.place.directory("sender"), create: true)
    let first = try SampleStore.fill(store, count: 1000)
    _ = try SampleStore.extend(store, from: first, values: 1000, versions: 1000)
    for format in Format.allCases {
      let folder = try context.place.directory("folder-\(format.name)")
      // This row must not wait for data that earlier rows left to be written.
      try context.place.sync()
      add(
        "send 1,000 versions as \(format.name)",
        try BenchTimer.seconds { try format.send(store, to: folder) }, Original.send)
      let other = try Store.open(
        path: try context.place.directory("receiver-\(format.name)"), create: true)
      add(
        "retrieve 1,000 versions as \(format.name)",
        try BenchTimer.seconds { try format.retrieve(into: other, from: folder) },
        Original.retrieve)
    }
  }

  /// Measures the disk alone with the files of such a send. On ext4 it takes several times as long
  /// if files were removed a short time before, and every send waits for that.
  private static func filesAlone(_ context: BenchContext) throws -> BenchFigure {
    var random = BenchRandom(11)
    let bytes = random.bytes(400)
    let (from, to) = (try context.place.directory("from"), try context.place.directory("to"))
    try context.place.sync()
    let seconds = try BenchTimer.seconds {
      for index in 0..<2000 {
        try File("\(from)/\(index)", [.readWrite, .create]).write(bytes, at: 0)
      }
      try context.place.sync()
      for index in 0..<2000 { try FileSystem.rename("\(from)/\(index)", to: "\(to)/\(index)") }
      try FileSystem.syncDirectory(to)
    }
    return BenchFigure(work: "the disk: 2,000 files written, synced and renamed", ours: seconds)
  }
}
