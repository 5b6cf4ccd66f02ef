import LLVSCore
import LLVSExchange

/// The state of the exchanges with a peer, in its row in the store.
struct PeerState: Hashable, Sendable {
  /// The time of the last successful exchange, in nanoseconds since 1970.
  var succeeded: Int64?
  /// The time of the last failure; nil if an exchange succeeded after it.
  var failed: Int64?
  var message = ""
  /// The peer has all versions up to this number.
  var sent: UInt32 = 0
  /// The number of versions with greater numbers that came from the peer.
  var taken: UInt32 = 0
  /// The number of versions that the last retrieval refused or could not read.
  var refused = 0
  var refusal = ""
  /// The number of versions that the last retrieval found only partly.
  var waiting = 0
  /// What the last retrieval could not read, in words; empty if it read everything.
  var incomplete = ""
  /// The number of versions that could not be read; what else was refused or waits are bundles.
  private var unreadable = 0
  /// Sentences without a period about the remains of the last retrieval and the last send.
  var notes: [String] {
    (found.isEmpty || !incomplete.isEmpty ? [] : [found]) + takingNotes
      + sendingNotes.filter { !takingNotes.contains($0) }
  }
  /// The result of the last `verify` of the peer, in words; empty for no damage, and after a send has mended it.
  var found = ""
  private var takingNotes: [String] = []
  private var sendingNotes: [String] = []
  /// The most notes that are kept for each half.
  private static let noteLimit = 20
  /// The newest version that came from the peer.
  var given: Version.ID?
  /// The versions here that versions continue from which the last retrieval could not take: a later one may.
  var awaited: [Version.ID] = []
  /// The most of them that are kept.
  private static let awaitedLimit = 256
  /// True if the user accepted the place in spite of its other files.
  var isWelcome = false
  init() {}
  /// The number of this store's versions that the peer is known to have.
  var countThere: Int { Int(sent) + Int(taken) }

  /// Reads the bytes that ``encoded`` made; fields that cannot be read have their defaults.
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
      case "found": found = value
      case "incomplete": incomplete = value
      case "unreadable": unreadable = Int(value) ?? 0
      case "waiting": waiting = Int(value) ?? 0
      case "taking": takingNotes.append(value)
      case "sending": sendingNotes.append(value)
      case "given": given = Version.ID(value)
      case "awaited": awaited.append(Version.ID(value))
      case "welcome": isWelcome = value == "1"
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
    if !incomplete.isEmpty { lines.append("incomplete=\(Self.line(incomplete))") }
    if unreadable > 0 { lines.append("unreadable=\(unreadable)") }
    if !found.isEmpty { lines.append("found=\(Self.line(found))") }
    lines += takingNotes.map { "taking=\(Self.line($0))" }
    lines += sendingNotes.map { "sending=\(Self.line($0))" }
    if let given { lines.append("given=\(Self.line(given.rawValue))") }
    lines += awaited.map { "awaited=\(Self.line($0.rawValue))" }
    if isWelcome { lines.append("welcome=1") }
    lines.append("sent=\(sent)")
    lines.append("taken=\(taken)")
    return Array(lines.joined(separator: "\n").utf8)
  }

  private static func line(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  mutating func retrieved(_ report: ExchangeReport) {
    taken = UInt32(clamping: Int(taken) + report.taken.count)
    refused = report.refused.count
    refusal =
      report.refused.first.map { fault in
        fault.isObject && fault.cause == "damaged" ? "a bundle there is damaged" : fault.reason
      } ?? ""
    waiting = report.waiting.count
    if let last = report.taken.last { given = last }
    awaited = Array(report.awaited.sorted().prefix(Self.awaitedLimit))
    unreadable = report.unreadable.count
    incomplete = report.incomplete ?? ""
    if !report.isAsBefore { takingNotes = Array(report.notes.prefix(Self.noteLimit)) }
  }

  /// Records a send; `newest` was the greatest number before it, `unsent` the versions that could not be sent.
  mutating func sent(_ report: ExchangeReport, newest: UInt32, without unsent: [UInt32]) {
    if !report.mayBeDamaged { found = "" }
    if report.leavesNoHole, unreadable == 0 {
      (refused, refusal, waiting, incomplete) = (0, "", 0, "")
    }
    if !report.isAsBefore { sendingNotes = Array(report.notes.prefix(Self.noteLimit)) }
    // The peer has all versions before the first unsent one, and all after it except the unsent ones.
    sent = unsent.min().map { $0 - 1 } ?? newest
    taken = UInt32(clamping: Int(newest) - Int(sent) - unsent.count)
  }

  /// Returns the number of versions that the peer lacks, as far as known without a request.
  func countToSend(newest: UInt32) -> Int { max(0, Int(newest) - Int(sent) - Int(taken)) }
}
