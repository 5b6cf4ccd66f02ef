internal import Platform

/// A recursive lock: a program reads within a block that writes, and an upgrader writes while the database is being
/// opened.
final class Gate: Sendable {
  private struct State {
    var owner: UInt?
    var depth = 0
  }

  private let state = Monitor(State())

  var isMine: Bool {
    let me = SystemThread.current
    return state.withLock { $0.owner == me }
  }

  func locked<Result>(_ body: () throws -> Result) rethrows -> Result {
    let me = SystemThread.current
    _ = state.wait { (state: inout State) -> Void? in
      guard state.owner == nil || state.owner == me else { return nil }
      state.owner = me
      state.depth += 1
      return ()
    }
    defer {
      let isFree = state.withLock { state in
        state.depth -= 1
        if state.depth == 0 { state.owner = nil }
        return state.depth == 0
      }
      if isFree { state.signal() }
    }
    return try body()
  }
}
