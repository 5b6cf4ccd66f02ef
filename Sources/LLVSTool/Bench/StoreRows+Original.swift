import LLVSCore
import Platform

/// The published figures of the original LLVS, measured on another day: only their order of
/// magnitude counts.
extension StoreRows {
  /// The best of its back-ends; exchange of 1,000 versions; in seconds.
  private enum Original {
    static let send = 0.79
    static let retrieve = 3.19
  }

  static func original(_ context: BenchContext) throws -> [BenchFigure] {
    var figures: [BenchFigure] = []
    func add(_ work: String, _ ours: Double, _ reference: Double) {
      figures.append(
        BenchFigure(
          work: work, ours: ours, reference: reference, against: "the original",
          goal: .faster(atLeast: 10, aim: 100)))
    }
    try library(at: try context.place.directory("store"), add)
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
