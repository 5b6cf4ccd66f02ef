import Testing

struct ForgettingModelTests {
  /// Visits every state that steps lead to, and returns the first loss.
  private func loss(without off: ForgettingModel.Protection?) -> (loss: String?, states: Int) {
    let on = Set(ForgettingModel.Protection.allCases.filter { $0 != off })
    var known: Set<ForgettingModel> = [ForgettingModel()]
    var waiting = [ForgettingModel()]
    while let state = waiting.popLast() {
      if let loss = state.loss { return (loss, known.count) }
      for next in state.successors(on) where known.insert(next).inserted { waiting.append(next) }
    }
    return (nil, known.count)
  }

  @Test("no order of steps loses bytes, or calls forgotten bytes damaged")
  func all() {
    let found = loss(without: nil)
    #expect(found.loss == nil)
    #expect(found.states > 500, "\(found.states) states")
  }

  @Test(
    "without any one protection there is a loss", arguments: ForgettingModel.Protection.allCases)
  func each(off: ForgettingModel.Protection) {
    #expect(loss(without: off).loss != nil)
  }
}
