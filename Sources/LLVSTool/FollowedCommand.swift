import Control
import Platform

/// A command of a mounted store that is followed and can be cancelled. A thread's write to the control file waits
/// for the daemon; this thread polls, and interrupts the other to cancel.
enum FollowedCommand {
  /// The time between two checks, in nanoseconds.
  private static let glance: UInt64 = 250_000_000

  private struct State {
    var writer: Int32 = 0
    var result: Result<Answer, any Error>?
  }

  static func run(
    at root: String, _ context: CommandContext, _ run: @escaping @Sendable () throws -> Answer
  ) throws -> Answer {
    let state = Monitor(State())
    try SystemThread.detach(name: "llvs-write") {
      // Threads begin with all signals blocked.
      Signals.admitInterrupts()
      state.withLock { $0.writer = SystemThread.kernelID }
      let result = Result { try run() }
      state.withLock { $0.result = result }
      state.broadcast()
    }
    while true {
      if let result = state.wait(nanoseconds: glance, until: { $0.result }) {
        return try result.get()
      }
      if context.isCancelled() { Signals.interrupt(thread: state.withLock { $0.writer }) }
      if let now = progress(at: root) { context.progress(now) }
    }
  }

  /// Reads the progress of the oldest running command.
  private static func progress(at root: String) -> CommandProgress? {
    guard let json = try? CommandTarget.status(of: root), let status = try? StoreReport(json: json),
      let first = status.running?.first
    else { return nil }
    return first.progress
  }
}
