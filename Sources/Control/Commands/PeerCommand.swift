import Events
import Grammar
import LLVSCore
import LLVSExchange

struct PeerCommand: Command {
  static let forms = [CommandForm("peer", "NAME --reset|--force")]

  enum Change: String {
    /// Forgets the versions seen there: the place is empty, or another one, on purpose.
    case reset = "--reset"
    /// Allows other files at the place.
    case force = "--force"
  }

  let peer: String
  let change: Change
  var title: String { "peer \(peer) \(change.rawValue)" }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let known = try PeerAddress(try service.peer(peer).address)
    if change == .reset, case .remote(let address) = known {
      let place = PeerOpener.place(of: address)
      try BundleRemote.forget(place, in: service.store)
      service.store.note(PeerOpener.mountNote(place), [])
    }
    try service.store.write { (transaction) throws(StoreError) in
      guard var known = try service.store.peers().first(where: { $0.name == peer }) else { return }
      var state = change == .reset ? PeerState() : PeerState(known.state)
      if change == .force { state.isWelcome = true }
      known.state = state.encoded
      transaction.setPeer(known)
    }
    let text =
      change == .reset
      ? "what was seen at \(peer) is forgotten" : "\(peer) may hold other things too"
    service.log.add("peer", "\(peer): \(text)")
    return CommandResult(text, ["peer": peer])
  }

  init(_ arguments: inout Arguments) throws(ControlError) {
    peer = try arguments.text("a name")
    let word = try arguments.text("--reset or --force")
    guard let change = Change(rawValue: word) else {
      throw arguments.misused("\"\(word)\" is neither --reset nor --force")
    }
    self.change = change
  }
}
