import Events
import Grammar
import LLVSCore
import LLVSExchange
import TreeNames
import WorkingTree

/// Checks every hash of the store and the working tree, of a peer, or the working tree alone.
struct VerifyCommand: Command {
  static let forms = [
    CommandForm("verify", "[PEER [--repair] | --tree]")
  ]

  enum Place: Hashable {
    case store
    case tree
    case peer(String, isRepairing: Bool)
  }

  let place: Place

  var title: String {
    switch place {
    case .store: "verify"
    case .tree: "verify --tree"
    case .peer(let name, let isRepairing): "verify \(name)\(isRepairing ? " --repair" : "")"
    }
  }

  var effect: CommandEffect { .change }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    switch place {
    case .store: try service.verifyStore(context)
    case .tree: try service.verifyTree(context)
    case .peer(let name, let isRepairing):
      try service.verifyPeer(name, isRepairing: isRepairing, context)
    }
  }
}

extension VerifyCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    let isRepairing = arguments.takes("--repair")
    let word = try arguments.textIfAny()
    guard let word else {
      guard !isRepairing else { throw arguments.misused("--repair is for a peer") }
      place = .store
      return
    }
    place =
      word == "--tree" && !isRepairing
      ? .tree : .peer(word, isRepairing: arguments.takes("--repair") || isRepairing)
  }
}

extension ControlService {
  fileprivate func verifyStore(_ context: CommandContext) throws -> CommandResult {
    let report = try store.verify { done, total in
      context.progress(CommandProgress("verifying", bytes: done, of: total))
      return !context.isCancelled()
    }
    let damage = try report.damage + tree.faults(isCancelled: context.isCancelled)
    for damage in damage { log.add("error", damage) }
    if let first = damage.first {
      let more = damage.count > 1 ? " (and \(damage.count - 1) more, in the log)" : ""
      throw ControlError(.damaged, first + more)
    }
    return CommandResult(
      "no damage found: \(PrintableText.count(report.versions, "version")), "
        + "\(PrintableText.entries(report.entries)), \(PrintableText.count(report.bytes, "byte"))",
      ["versions": report.versions, "entries": report.entries, "bytes": report.bytes])
  }

  fileprivate func verifyTree(_ context: CommandContext) throws -> CommandResult {
    let faults = try tree.faults(isCancelled: context.isCancelled)
    for fault in faults { log.add("error", fault) }
    return CommandResult(
      faults.isEmpty ? "no damage found in the working tree" : faults.joined(separator: "\n"),
      ["damage": faults])
  }

  /// Reads all that is at a peer, and replaces what is damaged or missing there if it `isRepairing`.
  fileprivate func verifyPeer(
    _ name: String, isRepairing: Bool, _ context: CommandContext
  ) throws -> CommandResult {
    let peer = try peer(name)
    if case .document = try PeerAddress(peer.address) {
      let count = try asking(peer, PeerSession(context)) { remote, _ in
        try (remote as? DocumentPeer)?.verify() ?? 0
      }
      return CommandResult(
        "no damage found: \(PrintableText.count(count, "value"))", ["values": count])
    }
    let session = PeerSession(context)
    // Another stick is not damaged, and gets nothing.
    try checkPlace(of: peer, session)
    if isRepairing, let head = try ownHistory() {
      try checkHistory(of: peer, against: head, session)
    }
    var found = try check(peer, session)
    if isRepairing, !found.isWhole {
      for fault in found.lines { log.add("error", "\(name): \(fault)") }
      let direction = try peerSettings(name).direction
      guard direction != .retrieveOnly else {
        throw ControlError(
          .notPermitted,
          "\(name) is retrieve-only, so nothing is repaired there; \"llvs set \(name).direction=both\" changes that"
        )
      }
      let before = found
      // A store that has all that can be read there mends more.
      if direction == .both { try run(.retrieve, with: peer, session) }
      try run(.send, with: peer, session)
      found = try check(peer, session)
      if found.isWhole {
        return CommandResult(
          found.with("\(name): repaired; \(before.lines.joined(separator: "; "))"),
          found.reply(name))
      }
    }
    for fault in found.lines { log.add("error", "\(name): \(fault)") }
    guard found.isWhole else {
      let shown = found.lines.prefix(Self.faultsShown)
      let more = found.lines.count - shown.count
      // What is wrong with key files says itself what to do.
      let advice =
        found.isLocked
        ? "\"llvs key open \(name)\" gets the missing key with its passphrase"
        : found.isNewer
          ? "update llvs to read what a newer program wrote"
          : isRepairing
            ? "this store has nothing to replace it with; sync the machine that wrote it, or another that has it"
            : "\"llvs verify \(name) --repair\" or the next sync sends again what this store has"
      var error = ControlError(
        .damaged,
        "\(name): "
          + (shown + (more > 0 ? ["\(more) more, in the log"] : [])
          + (found.isOfKeys ? [] : [advice]))
          .joined(separator: "\n  "))
      error.done = ControlError.Done(text: "", fields: found.reply(name))
      throw error
    }
    return CommandResult(
      found.with(
        "\(name): no \(found.notes.isEmpty ? "" : "other ")damage found in "
          + "\(PrintableText.count(found.versions, "version")); \(found.compared) of them the same here"
      ),
      found.reply(name))
  }

  private static let faultsShown = 5

  /// What a look at a whole peer found.
  private struct PeerCheck {
    /// The versions that can be read whole there, and those of them that are here.
    var versions = 0
    var compared = 0
    var damaged: [String] = []
    /// The bundles that are missing or not whole.
    var absent: [String] = []
    /// The number of versions and bundles that are there in part.
    var waiting = 0
    /// The versions that were sent or found and cannot be read there.
    var missing: [String] = []
    /// True if this store lacks the key of any bundle.
    var isLocked = false
    /// True if a newer program wrote any bundle.
    var isNewer = false
    /// Clauses about damage that needs no repair.
    var notes: [String] = []
    func with(_ text: String) -> String { ([text] + notes).joined(separator: "\n  ") }
    var isOfKeys: Bool {
      damaged.allSatisfy { $0.hasPrefix(KeyFileName.directory) } && absent.isEmpty
        && missing.isEmpty
    }
    var isWhole: Bool { damaged.isEmpty && absent.isEmpty && missing.isEmpty }

    var lines: [String] {
      let what = "\(PrintableText.count(missing.count, "version")) cannot be read there"
      let shown = missing.prefix(3).joined(separator: ", ") + (missing.count > 3 ? ", ..." : "")
      return damaged + absent + (missing.isEmpty ? [] : ["\(what): \(shown)"])
    }

    func reply(_ peer: String) -> ReplyValue {
      [
        "peer": peer, "versions": versions, "compared": compared, "damaged": damaged.count,
        "waiting": waiting, "missing": missing,
      ]
    }
  }

  private func check(_ peer: Peer, _ session: PeerSession) throws -> PeerCheck {
    let found = try asking(peer, session) { remote, control in
      let report = try remote.verify(for: store, control)
      func text(_ fault: ExchangeReport.Fault) -> String {
        fault.reason.contains(fault.id.rawValue)
          ? fault.reason : "\(fault.id.rawValue): \(fault.reason)"
      }
      var found = PeerCheck()
      found.versions = report.remoteIDs.count
      for id in report.remoteIDs where try store.version(id) != nil { found.compared += 1 }
      (found.damaged, found.waiting) = (report.refused.map(text), report.waiting.count)
      found.absent = report.waiting.filter(\.isObject).map(text)
      found.isLocked = report.refused.contains(where: \.isLocked)
      found.isNewer = report.refused.contains(where: \.isNewer)
      found.notes = report.notes
      found.missing = try store.versionsToSend(
        upTo: PeerState(peer.state).sent, without: Set(report.remoteIDs), control: control
      ).map(\.name)
      // A retrieval counts these, too.
      for id in report.unreadable.subtracting(report.remoteIDs).sorted()
      where try store.version(id) == nil {
        found.missing.append(id.rawValue)
      }
      return found
    }
    update(peer) { state in
      state.found = found.lines.last.map { "INCOMPLETE there, as verify found: \($0)" } ?? ""
    }
    return found
  }
}
