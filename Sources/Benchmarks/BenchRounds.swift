/// The times of several contenders that ran in turn, round by round.
struct BenchRounds {
  /// For each contender, the time of each round, in seconds.
  let times: [[Double]]

  /// The median of a contender's times.
  subscript(runner: Int) -> Double { BenchTimer.median(times[runner]) }

  /// The ratio of two contenders' times, round by round. A machine that is slow for a while is slow
  /// for both in a round; medians of times far apart would compare the machine with itself.
  func ratios(of runner: Int, to other: Int) -> [Double] {
    zip(times[runner], times[other]).compactMap { $1 > 0 && $0 > 0 ? $0 / $1 : nil }
  }
}

extension BenchFigure {
  /// Creates a figure from rounds in which ours, the first contender, ran in turn with its
  /// reference.
  init(
    work: String, _ rounds: BenchRounds, reference: Int, against: String, goal: BenchGoal = .none,
    note: String? = nil
  ) {
    self.init(
      work: work, ours: rounds[0], reference: rounds[reference], against: against, goal: goal,
      note: note)
    paired = rounds.ratios(of: reference, to: 0)
  }
}
