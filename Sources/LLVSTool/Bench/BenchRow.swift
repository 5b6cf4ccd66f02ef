/// How large the samples are.
enum BenchScale: String {
  case small, full

  func pick<Value>(_ small: Value, _ full: Value) -> Value {
    self == .small ? small : full
  }
}

/// One line of the table that the project is judged by.
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
    BenchRow(id: "exchange", measure: StoreRows.exchange),
    BenchRow(id: "size", measure: StoreRows.size),
    BenchRow(id: "original", measure: StoreRows.original),
  ]
}

/// What is asked of a figure.
enum BenchGoal {
  /// The reference's figure divided by ours.
  case faster(atLeast: Double, aim: Double)
  /// Our figure divided by the reference's.
  case times(atMost: Double, aim: Double)
  /// Our figure alone.
  case within(atMost: Double, aim: Double)
  /// Measured for information.
  case none
}

/// What was measured, per unit of work: less is better.
struct BenchFigure {
  enum Unit: String { case seconds, bytes }

  var work: String
  var ours: Double
  var reference: Double?
  var against = ""
  var unit = Unit.seconds
  var goal = BenchGoal.none
  /// Why it is as it is, where that is decided.
  var note: String?

  /// The reference's figure divided by ours in each round, where they ran in turn.
  var paired: [Double] = []

  /// The number that is compared with the goal: the median of the rounds.
  var ratio: Double? {
    guard let reference, reference > 0, ours > 0 else { return nil }
    return asAsked(paired.isEmpty ? reference / ours : BenchTimer.median(paired))
  }

  /// The least and the most of the rounds' ratios.
  var spread: ClosedRange<Double>? {
    let ratios = paired.map(asAsked)
    guard let least = ratios.min(), let most = ratios.max() else { return nil }
    return least...most
  }

  private func asAsked(_ faster: Double) -> Double {
    if case .times = goal { return 1 / faster }
    return faster
  }

  /// Whether what is asked was reached: nil where nothing is.
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
