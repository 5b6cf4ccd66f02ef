import Events
import Grammar
import LLVSCore
import ObjectStores

/// Shows and changes the keys of an encrypted peer; passphrases come only from the environment.
struct KeyCommand: Command {
  static let forms = [CommandForm("key", "list|open|add|remove|rotate PEER [LABEL]")]

  /// The requests of docs/exchanges.md, rule 9.
  enum Request: String { case list, open, add, remove, rotate }

  let request: Request
  let peer: String
  let label: String?
  var title: String { "key \(request.rawValue) \(peer)" }
  var effect: CommandEffect { request == .list ? .query : .version }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let keys = try PeerKeys(
      PeerOpening(
        name: peer, store: service.store,
        transfer: TransferControl(isStopped: context.isCancelled)),
      at: try PeerAddress(try service.peer(peer).address))
    let passphrase: PeerKeys.Asking = { (_) throws(ControlError) in
      guard let given = try Passphrase.given(isGivenUp: context.isCancelled) else {
        throw ControlError(
          .notPermitted,
          "a passphrase is needed: \"llvs key \(request.rawValue) \(peer)\" asks for it")
      }
      return given
    }
    let own = label ?? PeerKeys.label(service.settings.machine)
    let result: CommandResult
    switch request {
    case .list: return try keys.list()
    case .open:
      result = try keys.open(label: own, passphrase)
      _ = try service.set([try PeerSettings.Assignment(name: "\(peer).encrypt", value: "on")])
    case .add: result = try keys.add(label: own, passphrase)
    case .remove: result = try keys.remove(label: own)
    case .rotate: result = try keys.rotate(label: own, passphrase)
    }
    service.log.add("peer", "\(peer): key \(request.rawValue)")
    return result
  }

  init(_ arguments: inout Arguments) throws(ControlError) {
    let word = try arguments.text("list, open, add, remove or rotate")
    peer = try arguments.text("a peer")
    guard let request = Request(rawValue: word) else {
      throw arguments.misused("\"\(word)\" is not list, open, add, remove or rotate")
    }
    self.request = request
    label =
      switch request {
      case .list, .open: nil
      case .remove: try arguments.text("a label")
      case .add, .rotate: try arguments.textIfAny()
      }
  }
}
