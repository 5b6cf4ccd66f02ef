/// The outcome of a command for the control file and the status.
package enum ControlReply: Hashable, Sendable {
  case done(String)
  /// The command failed; the message is a clause without a final period.
  case failed(String)
  private static let doneMark = "ok "
  private static let failedMark = "error: "

  /// Reads the text of an outcome; nil if it is the answer to a question, which has no mark.
  package init?(_ text: some StringProtocol) {
    if text.hasPrefix(Self.doneMark) {
      self = .done(String(text.dropFirst(Self.doneMark.count)))
    } else if text.hasPrefix(Self.failedMark) {
      self = .failed(String(text.dropFirst(Self.failedMark.count)))
    } else {
      return nil
    }
  }

  package var text: String {
    switch self {
    case .done(let text): Self.doneMark + text
    case .failed(let message): Self.failedMark + message
    }
  }

  package var firstLine: ControlReply {
    func first(_ text: String) -> String {
      text.split(separator: "\n").first.map(String.init) ?? text
    }
    return switch self {
    case .done(let text): .done(first(text))
    case .failed(let message): .failed(first(message))
    }
  }
}
