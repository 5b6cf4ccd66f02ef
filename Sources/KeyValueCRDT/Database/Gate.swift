internal import Platform

/// A lock that a thread may take again while it holds it.
///
/// A program reads the database within a block that writes to it, and an upgrader writes while the database
/// is being opened: both are on the thread that holds the connection.
final class Gate: Sendable {
  private struct State {
    var owner: UInt?
    var depth = 0
  }

  private let state = Monitor(State())

  /// True if the calling thread holds the gate.
  var isMine: Bool {
    let me = SystemThread.current
    return state.withLock { $0.owner == me }
  }

  /// Runs a body while no other thread runs one.
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
