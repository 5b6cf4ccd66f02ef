import Control
import Foundation
import Grammar
import Platform

/// A command of a mounted store that is followed and can be cancelled.
///
/// The daemon runs it while a write to the control file waits. So a thread writes; this one reads from
/// the status how far the command is, and interrupts the write where the command is to be cancelled.
enum FollowedCommand {
  /// The time between two looks, in nanoseconds.
  private static let glance: UInt64 = 250_000_000

  private struct State {
    var writer: Int32 = 0
    var result: Result<Answer, any Error>?
  }

  /// Runs a command to its end.
  ///
  /// - Parameters:
  ///   - root: where the store is mounted.
  ///   - context: is asked whether to cancel it, and told how far it is.
  ///   - run: gives the command to the mount; called on another thread.
  /// - Returns: the reply.
  /// - Throws: the error of `run`; ``ControlError`` of kind interrupted for one that was cancelled.
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

  /// Reads the progress of the command that has run for longest.
  private static func progress(at root: String) -> CommandProgress? {
    guard let bytes = try? FileSystem.read("\(root)/.llvs/status.json", atMost: 16 << 20),
      let status = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any],
      let first = (status["running"] as? [[String: Any]])?.first,
      let what = first["what"] as? String
    else { return nil }
    return CommandProgress(
      what, done: first["done"] as? Int ?? 0, total: first["total"] as? Int ?? 0)
  }
}
