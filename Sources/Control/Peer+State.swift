import LLVSCore
import LLVSExchange

/// What is remembered of the exchanges with a peer: the state that its row in the store carries.
struct PeerState: Hashable, Sendable {
  /// When an exchange last succeeded, in nanoseconds since 1970.
  var succeeded: Int64?
  /// When the last one failed; nil once one succeeded after it.
  var failed: Int64?
  var message = ""
  /// Versions up to this number are there.
  var sent: UInt32 = 0
  /// Versions with greater numbers that came from there.
  var taken: UInt32 = 0
  /// Versions that the last retrieval refused or could not read, and why the first of them.
  var refused = 0
  var refusal = ""
  /// Versions of which that retrieval found a part only.
  var waiting = 0

  init() {}

  /// Reads what ``encoded`` wrote; what cannot be read is as if it had never been.
  init(_ bytes: [UInt8]?) {
    guard let bytes else { return }
    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      guard let equals = line.firstIndex(of: "=") else { continue }
      let value = String(line[line.index(after: equals)...])
      switch line[..<equals] {
      case "ok": succeeded = Int64(value)
      case "failed": failed = Int64(value)
      case "message": message = value
      case "sent": sent = UInt32(value) ?? 0
      case "taken": taken = UInt32(value) ?? 0
      case "refused": refused = Int(value) ?? 0
      case "refusal": refusal = value
      case "waiting": waiting = Int(value) ?? 0
      default: break
      }
    }
  }

  var encoded: [UInt8] {
    var lines: [String] = []
    if let succeeded { lines.append("ok=\(succeeded)") }
    if let failed {
      lines.append("failed=\(failed)")
      lines.append("message=\(Self.line(message))")
    }
    if refused > 0 {
      lines.append("refused=\(refused)")
      lines.append("refusal=\(Self.line(refusal))")
    }
    if waiting > 0 { lines.append("waiting=\(waiting)") }
    lines.append("sent=\(sent)")
    lines.append("taken=\(taken)")
    return Array(lines.joined(separator: "\n").utf8)
  }

  private static func line(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  /// Notes what a retrieval came to.
  mutating func retrieved(_ report: ExchangeReport) {
    taken = UInt32(clamping: Int(taken) + report.taken.count)
    refused = report.refused.count
    refusal = report.refused.first?.reason ?? ""
    waiting = report.waiting.count
  }

  /// Notes what a send came to, before which `newest` was the greatest number; `unsent` are the numbers of
  /// the versions that could not be.
  mutating func sent(newest: UInt32, without unsent: [UInt32]) {
    // Up to the first that is not there, and all behind it but those.
    sent = unsent.min().map { $0 - 1 } ?? newest
    taken = UInt32(clamping: Int(newest) - Int(sent) - unsent.count)
  }

  /// How many versions are not there yet, as far as can be told without asking.
  func countToSend(newest: UInt32) -> Int {
    max(0, Int(newest) - Int(sent) - Int(taken))
  }
}
