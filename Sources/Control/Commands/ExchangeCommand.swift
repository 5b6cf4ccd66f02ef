import Grammar

enum ExchangeHalf: Hashable { case retrieve, send }

/// Gets versions from peers, sends versions to them, or both; without names, from and to all peers.
struct ExchangeCommand: Command {
  static let forms = [
    CommandForm(
      "retrieve", "[PEER...]", .peers,
      help: """
        Gets versions from peers and merges nothing.
        Look first with "llvs merge --dry-run", then merge with "llvs merge".
        """),
    CommandForm(
      "send", "[PEER...]", .peers, help: "Sends the versions of this store to peers."),
    CommandForm(
      "exchange", "[PEER...]", .peers,
      help: "Retrieves from peers, then sends to them; merges nothing."),
  ]

  let name: String
  let peers: [String]
  var title: String { ([name] + peers).joined(separator: " ") }
  var effect: CommandEffect { name == "retrieve" ? .change : .version }

  private var halves: [ExchangeHalf] {
    name == "retrieve" ? [.retrieve] : name == "send" ? [.send] : [.retrieve, .send]
  }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let all = try service.peers(named: peers)
    guard !all.isEmpty else {
      throw ControlError(.notFound, "there are no peers; \"llvs peer NAME ADDRESS\" adds one")
    }
    var outcome = ExchangeOutcome()
    service.telling(&outcome) { outcome in
      let session = PeerSession(context, named: peers)
      try service.meet(all, comparingHistories: false, session, &outcome) {
        ready, served, outcome in
        try service.refuse(halves, named: peers)
        for half in halves {
          let peers = half == .send ? served + ready : ready
          try service.run(half, with: peers, session, &outcome)
        }
      }
      outcome.failIfAllAreAway()
      if halves == [.retrieve] { outcome.failIfIncomplete() }
      // After a retrieval without a merge, the reply reports heads to merge.
      outcome.waitingHeads = halves.contains(.retrieve) ? try service.countToMerge() : 0
    }
    return try service.reply(outcome)
  }
}

extension ExchangeCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    name = arguments.name
    peers = try arguments.remainingTexts()
  }
}
