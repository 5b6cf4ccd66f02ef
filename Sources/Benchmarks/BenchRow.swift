/// The size of the samples.
enum BenchScale: String {
  case small, full

  func pick<Value>(_ small: Value, _ full: Value) -> Value {
    self == .small ? small : full
  }
}

/// One row of the benchmark's table.
struct BenchRow: Sendable {
  let id: String
  let measure: @Sendable (BenchContext) throws -> [BenchFigure]

  static let all: [BenchRow] = [
    BenchRow(id: "create", measure: MountRows.create),
    BenchRow(id: "walk", measure: MountRows.walk),
    BenchRow(id: "history", measure: MountRows.history),
    BenchRow(id: "read", measure: MountRows.read),
    BenchRow(id: "large", measure: MountRows.large),
    BenchRow(id: "sync", measure: MountRows.sync),
    BenchRow(id: "patch", measure: MountRows.patch),
    BenchRow(id: "programs", measure: MountRows.programs),
    BenchRow(id: "memory", measure: MountRows.memory),
    BenchRow(id: "version", measure: StoreRows.version),
    BenchRow(id: "merge", measure: StoreRows.merge),
    BenchRow(id: "crisscross", measure: StoreRows.crisscross),
    BenchRow(id: "settle", measure: StoreRows.settle),
    BenchRow(id: "commit", measure: StoreRows.commit),
    BenchRow(id: "many", measure: MountRows.many),
    BenchRow(id: "beside", measure: MountRows.beside),
    BenchRow(id: "exchange", measure: StoreRows.exchange),
    BenchRow(id: "remotes", measure: RemoteRows.remotes),
    BenchRow(id: "uploads", measure: RemoteRows.uploads),
    BenchRow(id: "edit", measure: RemoteRows.edit),
    BenchRow(id: "bytes", measure: RemoteRows.bytes),
    BenchRow(id: "growth", measure: GrowthRows.growth),
    BenchRow(id: "compact", measure: CompactRows.compact),
    BenchRow(id: "hour", measure: HourRows.hour),
    BenchRow(id: "size", measure: StoreRows.size),
    BenchRow(id: "original", measure: StoreRows.original),
    BenchRow(id: "tree", measure: TreeBench.tree),
    BenchRow(id: "calls", measure: CallRows.calls),
    BenchRow(id: "pending", measure: PendingRows.pending),
    BenchRow(id: "document", measure: DocumentRows.document),
    BenchRow(id: "search", measure: SearchRows.search),
  ]
}

/// The goal of a figure.
enum BenchGoal {
  /// For the reference's figure divided by ours.
  case faster(atLeast: Double, aim: Double)
  /// For our figure divided by the reference's.
  case times(atMost: Double, aim: Double)
  /// For our figure alone.
  case within(atMost: Double, aim: Double)
  /// No goal; measured for information.
  case none
}

/// A measured value per unit of work; less is better.
struct BenchFigure {
  enum Unit: String { case seconds, bytes }

  var work: String
  var ours: Double
  var reference: Double?
  var against = ""
  var unit = Unit.seconds
  var goal = BenchGoal.none
  /// An explanation, if something other than the code decides the figure.
  var note: String?

  /// The reference's figure divided by ours in each round, if they ran in turn.
  var paired: [Double] = []

  /// The number that is compared with the goal: the median over the rounds.
  var ratio: Double? {
    guard let reference, reference > 0, ours > 0 else { return nil }
    return asAsked(paired.isEmpty ? reference / ours : BenchTimer.median(paired))
  }

  /// The smallest and the largest ratio of a round.
  var spread: ClosedRange<Double>? {
    let ratios = paired.map(asAsked)
    guard let least = ratios.min(), let most = ratios.max() else { return nil }
    return least...most
  }

  private func asAsked(_ faster: Double) -> Double {
    if case .times = goal { return 1 / faster }
    return faster
  }

  /// The result of the comparison with the goal; nil if there is no goal.
  var verdict: Verdict? {
    switch goal {
    case .faster(let least, let aim):
      ratio.map { $0 >= aim ? .aim : $0 >= least ? .enough : .short }
    case .times(let most, let aim):
      ratio.map { $0 <= aim ? .aim : $0 <= most ? .enough : .short }
    case .within(let most, let aim): ours <= aim ? .aim : ours <= most ? .enough : .short
    case .none: nil
    }
  }

  enum Verdict: String { case aim, enough, short }
}
