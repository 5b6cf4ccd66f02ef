import LLVSExchange
import ObjectStores
import Platform

/// The progress of an exchange with one peer, in versions and in bytes.
/// - Concurrency: any thread; the lock is a leaf, not held while it reports.
final class PeerProgress: Sendable {
  private struct State {
    var step: ExchangeControl.Progress?
    /// The last steps that counted versions: stored ones, and sent ones.
    var counted: [ExchangeControl.Progress.Phase: ExchangeControl.Progress] = [:]
    /// Bytes that moved in the direction of the step.
    var sent: UInt64 = 0
    var received: UInt64 = 0
    /// The bytes that had moved in this direction when a phase with a known length began.
    var start: (isSending: Bool, bytes: UInt64)?
    var moved: UInt64 { step?.phase == .sending ? sent : received }
  }

  private let name: String
  private let report: @Sendable (CommandProgress) -> Void
  private let state = Monitor(State())

  init(_ name: String, _ report: @escaping @Sendable (CommandProgress) -> Void) {
    self.name = name
    self.report = report
  }

  /// Returns the last step of a phase that counts versions.
  func counted(_ phase: ExchangeControl.Progress.Phase) -> ExchangeControl.Progress? {
    state.withLock { $0.counted[phase] }
  }

  func reached(_ step: ExchangeControl.Progress) {
    tell { state in
      state.step = step
      if step.phase == .storing || step.phase == .sending { state.counted[step.phase] = step }
    }
  }

  func moved(sent: UInt64, received: UInt64) {
    tell { state in
      state.sent = sent
      state.received = received
    }
  }

  private func tell(_ change: (inout State) -> Void) {
    let now = state.withLock { state -> State in
      change(&state)
      let isSending = state.step?.phase == .sending
      if state.start.map({ $0.isSending != isSending }) ?? ((state.step?.bytes ?? 0) > 0) {
        state.start = (isSending, state.moved)
      }
      return state
    }
    if let step = now.step, step.bytes > 0, let start = now.start {
      // Requests that are repeated move more.
      let done = min(now.moved - min(now.moved, start.bytes), step.bytes)
      return report(
        CommandProgress("\(name): \(step.phase.rawValue)", bytes: done, of: step.bytes))
    }
    let phase = now.step?.phase ?? .listing
    let moved = now.moved > 0 ? ", \(ByteCount.text(now.moved))" : ""
    report(
      CommandProgress(
        "\(name): \(phase.rawValue)\(moved)", done: now.step?.done ?? 0, total: now.step?.total ?? 0
      ))
  }
}
