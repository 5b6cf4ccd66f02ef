import LLVSCore
import Platform

/// Learns on what the commands that are to decide in a merge fail: the working tree, whose status and log
/// tell it.
package protocol ArbiterFailureListener: AnyObject, Sendable {
  /// Changes the summary of the newest merge that asked a command; nil where none of its commands failed.
  func updateArbiterFailures(_ body: (inout ArbiterTrials.Summary?) -> Void)
  /// Writes a line to the log.
  func say(_ line: String)
}

/// How the commands do that one merge asks to decide: on what they failed, and which are not asked again.
///
/// What a command fails on is merged all the same, so nobody would learn of it otherwise: the log has a line
/// for each of the first, the reply of the command and the status say how many.
///
/// - Concurrency: any thread; its lock is a leaf, and nothing is written under it.
package final class ArbiterTrials: Sendable {
  /// A clash that a command was to decide and did not.
  package struct Failure: Hashable, Sendable {
    package let path: [UInt8]
    /// A clause without a period.
    package let reason: String

    package var text: String { "\(String(decoding: path, as: UTF8.self)): \(reason)" }
  }

  /// The failures of the newest merge that asked a command, as the status tells them.
  package struct Summary: Sendable {
    /// When the first command failed, in nanoseconds since 1970.
    package var time: Int64
    /// The number of failures.
    package var count: Int
    /// The first failure.
    package var first: String
  }

  private struct State {
    var hasAsked = false
    var count = 0
    /// The first of them.
    var failures: [Failure] = []
    /// How often a command took too long or could not be run.
    var hopeless: [String: Int] = [:]
  }

  /// A command that took too long or could not be run so often in a merge is not asked again in it.
  static let chances = 2
  /// So many failures are named.
  private static let limit = 20

  private let listener: (any ArbiterFailureListener)?
  private let state = Monitor(State())

  /// Begins a merge.
  ///
  /// - Parameter listener: is told what fails; nil where nobody listens.
  package init(telling listener: (any ArbiterFailureListener)? = nil) { self.listener = listener }

  /// Whether a command is asked; notes the clash where it is not.
  func mayAsk(_ command: String, of path: [UInt8]) -> Bool {
    let (isFirst, isHopeless) = state.withLock { state -> (Bool, Bool) in
      defer { state.hasAsked = true }
      return (!state.hasAsked, state.hopeless[command, default: 0] >= Self.chances)
    }
    if isFirst { listener?.updateArbiterFailures { $0 = nil } }
    if isHopeless { note(Failure(path: path, reason: "\(command) is not asked again")) }
    return !isHopeless
  }

  /// Notes a clash that a command did not decide.
  func fail(_ command: String, on path: [UInt8], _ reason: String, isHopeless: Bool) {
    if isHopeless { state.withLock { $0.hopeless[command, default: 0] += 1 } }
    note(Failure(path: path, reason: "\(command) \(reason)"))
  }

  private func note(_ failure: Failure) {
    let (count, first) = state.withLock { state -> (Int, String) in
      state.count += 1
      if state.failures.count < Self.limit { state.failures.append(failure) }
      return (state.count, state.failures.first?.text ?? "")
    }
    guard let listener else { return }
    listener.updateArbiterFailures { summary in
      summary = Summary(time: summary?.time ?? TimestampText.now(), count: count, first: first)
    }
    if count <= Self.limit {
      listener.say("arbiter: \(failure.text); the newest value is taken")
    } else if count == Self.limit + 1 {
      listener.say("arbiter: what else fails in this merge is not listed")
    }
  }

  /// What to say of the merge; nil where nothing failed.
  package var text: String? {
    state.withLock { state in
      guard let first = state.failures.first else { return nil }
      return Self.text(state.count, first.text)
    }
  }

  package static func text(_ count: Int, _ first: String) -> String {
    "the arbiter failed on \(count) value\(count == 1 ? "" : "s"), of which the newest "
      + "\(count == 1 ? "is" : "are") taken (\(first)\(count > 1 ? ", ..." : ""))"
  }

  /// The same for programs.
  package var field: ReplyField {
    let failures = state.withLock { $0.failures }
    return ReplyField(
      "arbiterFailures",
      .list(
        failures.map {
          .record(ReplyField.path("path", $0.path) + [ReplyField("reason", $0.reason)])
        }))
  }
}
