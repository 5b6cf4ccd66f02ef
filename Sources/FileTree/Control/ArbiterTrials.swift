import LLVS
import Platform

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

  /// What the status tells of the newest merge that asked a command.
  struct Told: Sendable {
    /// Nanoseconds since 1970.
    var time: Int64
    var count: Int
    var first: String
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

  private let tree: LiveTree?
  private let state = Monitor(State())

  /// Begins a merge.
  ///
  /// - Parameter tree: whose log and status say what fails; nil where nobody listens.
  package init(of tree: LiveTree? = nil) { self.tree = tree }

  /// Whether a command is asked; notes the clash where it is not.
  func mayAsk(_ command: String, of path: [UInt8]) -> Bool {
    let (isFirst, isHopeless) = state.withLock { state -> (Bool, Bool) in
      defer { state.hasAsked = true }
      return (!state.hasAsked, state.hopeless[command, default: 0] >= Self.chances)
    }
    if isFirst { tree?.arbiterFailures.withLock { $0 = nil } }
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
    guard let tree else { return }
    tree.arbiterFailures.withLock { told in
      told = Told(time: told?.time ?? Moment.now(), count: count, first: first)
    }
    if count <= Self.limit {
      tree.damage.say("arbiter: \(failure.text); the newest value is taken")
    } else if count == Self.limit + 1 {
      tree.damage.say("arbiter: what else fails in this merge is not listed")
    }
  }

  /// What to say of the merge; nil where nothing failed.
  package var text: String? {
    state.withLock { state in
      guard let first = state.failures.first else { return nil }
      return Self.text(state.count, first.text)
    }
  }

  static func text(_ count: Int, _ first: String) -> String {
    "the arbiter failed on \(count) value\(count == 1 ? "" : "s"), of which the newest "
      + "\(count == 1 ? "is" : "are") taken (\(first)\(count > 1 ? ", ..." : ""))"
  }

  /// The same for programs.
  var field: ReplyField {
    let failures = state.withLock { $0.failures }
    return ReplyField(
      "arbiterFailures",
      .list(
        failures.map {
          .record(ReplyField.path("path", $0.path) + [ReplyField("reason", $0.reason)])
        }))
  }
}
