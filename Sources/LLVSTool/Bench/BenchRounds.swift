/// What several took that ran in turn, round after round.
struct BenchRounds {
  /// Of each of them, the time of each round.
  let times: [[Double]]

  /// The median of one's times.
  subscript(runner: Int) -> Double { BenchTimer.median(times[runner]) }

  /// How much longer the one took than the other, round by round: a machine that is slow for a while is
  /// so for both of a round, and medians of times far apart would compare its moods.
  func ratios(of runner: Int, to other: Int) -> [Double] {
    zip(times[runner], times[other]).compactMap { $1 > 0 && $0 > 0 ? $0 / $1 : nil }
  }
}

extension BenchFigure {
  /// A figure of one that ran in turn with its reference.
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
