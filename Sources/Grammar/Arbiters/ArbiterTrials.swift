import Platform
import TreeNames

/// Receives the failures of the commands that decide clashes, for example in the working tree.
package protocol ArbiterFailureListener: AnyObject, Sendable {
  /// Changes the summary of the newest merge that asked a command; nil if none of its commands failed.
  func updateArbiterFailures(_ body: (inout ArbiterTrials.Summary?) -> Void)
  func say(_ line: String)
}

/// The record of the arbiter commands of one merge: their failures, and which are not called again. A merge
/// continues when a command fails; the log, the reply and the status report the failures.
/// - Concurrency: any thread; its lock is a leaf, and nothing is written under it.
package final class ArbiterTrials: Sendable {
  /// A clash that a command failed to decide.
  package struct Failure: Hashable, Sendable {
    package let path: [UInt8]
    /// The reason, a clause without a period.
    package let reason: String

    package var text: String { "\(String(decoding: path, as: UTF8.self)): \(reason)" }
  }

  /// The failures of the newest merge that called a command, for the status.
  package struct Summary: Sendable {
    /// When the first command failed, in nanoseconds since 1970.
    package var time: Int64
    package var count: Int
    package var first: String
  }

  private struct State {
    var hasAsked = false
    var count = 0
    var failures: [Failure] = []
    /// By command, the number of times that it took too long or could not be run.
    var hopeless: [String: Int] = [:]
  }

  /// A command that took too long or could not be run this often in a merge is not called again in it.
  static let chances = 2
  private static let limit = 20
  private let listener: (any ArbiterFailureListener)?
  private let state = Monitor(State())
  package init(telling listener: (any ArbiterFailureListener)? = nil) { self.listener = listener }

  /// Returns true if a command may be called; otherwise records the clash as a failure.
  func mayAsk(_ command: String, of path: [UInt8]) -> Bool {
    let (isFirst, isHopeless) = state.withLock { state -> (Bool, Bool) in
      defer { state.hasAsked = true }
      return (!state.hasAsked, state.hopeless[command, default: 0] >= Self.chances)
    }
    if isFirst { listener?.updateArbiterFailures { $0 = nil } }
    if isHopeless { record(Failure(path: path, reason: "\(command) is not asked again")) }
    return !isHopeless
  }

  func fail(_ command: String, on path: [UInt8], _ reason: String, isHopeless: Bool) {
    if isHopeless { state.withLock { $0.hopeless[command, default: 0] += 1 } }
    record(Failure(path: path, reason: "\(command) \(reason)"))
  }

  private func record(_ failure: Failure) {
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

  /// A sentence about the failures of the merge; nil if there were none.
  package var text: String? {
    state.withLock { state in
      guard let first = state.failures.first else { return nil }
      return Self.text(state.count, first.text)
    }
  }

  package static func text(_ count: Int, _ first: String) -> String {
    "the arbiter failed on \(PrintableText.count(count, "value")), and the newest "
      + "\(count == 1 ? "is" : "are") taken (\(first)\(count > 1 ? ", ..." : ""))"
  }

  package var reply: ReplyValue {
    let failures = state.withLock { $0.failures }
    return .list(failures.map { ["path": ReplyBytes($0.path), "reason": $0.reason] })
  }
}
