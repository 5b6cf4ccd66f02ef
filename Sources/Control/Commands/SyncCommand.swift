import Grammar
import Platform

struct SyncCommand: Command {
  static let forms = [
    CommandForm(
      "sync", "[PEER...]", .peers, options: [.failing],
      help: "Commits, retrieves, merges and sends: usually the only command that you need.")
  ]

  var peers: [String] = []
  var title: String { (["sync"] + peers).joined(separator: " ") }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let named = try service.peers(named: peers)
    let all =
      context.isAutomatic ? service.silentPeers.withLock { $0.without(named) } : named
    let before = try service.headRecord()
    defer { if !all.isEmpty { service.noteSync(from: before) } }
    var outcome = ExchangeOutcome()
    service.telling(&outcome) { outcome in
      let makesVersions = !context.isAutomatic || !service.isBelowReserve
      if makesVersions { outcome.commit = Commit(try service.cut(), in: service.store) }
      let session = PeerSession(context, named: peers)
      try service.meet(all, comparingHistories: true, session, &outcome) { ready, served, outcome in
        try service.run(.retrieve, with: ready, session, &outcome)
        do {
          // The merge makes a version of pending changes too.
          if makesVersions, !context.isAutomatic || service.settings.automerge {
            outcome.note(try service.mergeHeads(context, service.standardArbitration(context)))
          }
        } catch {
          let error = ControlError(any: error)
          guard error.kind != .interrupted else { throw error }
          outcome.fail(error)
        }
        // Peers that answered late may have brought what the others lack.
        try service.run(.send, with: served + ready, session, &outcome)
      }
    }
    return try service.reply(outcome)
  }
}

extension SyncCommand {
  init(_ arguments: inout Arguments) throws(ControlError) { peers = try arguments.remainingTexts() }
}

extension VerbOption {
  static let failing = VerbOption(
    "fail-on-conflict", help: "exit with 1 if there are new conflicts")
}
