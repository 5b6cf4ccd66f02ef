import Events
import Grammar
import LLVSCore
import ObjectStores
import WorkingTree

extension ControlService {
  /// Does something with the keys of a peer. A passphrase comes from the environment: nobody types one
  /// into the control file.
  func key(
    _ name: String, _ request: ControlCommand.KeyRequest, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    guard let peer = try allPeers().first(where: { $0.name == name }) else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    let transfer = TransferControl(isStopped: context.isCancelled)
    let keys = try PeerKeys(
      PeerOpening(name: name, store: store, transfer: transfer),
      at: try PeerAddress(peer.address))
    let passphrase: PeerKeys.Asking = { (_) throws(ControlError) in
      guard let given = try Passphrase.given(isGivenUp: context.isCancelled) else {
        throw ControlError(
          .notPermitted,
          "a passphrase is needed: \"llvs key \(request.word) \(name)\" asks for it")
      }
      return given
    }
    let own = PeerKeys.label(settings.machine)
    let result: CommandResult
    switch request {
    case .list: return try keys.list()
    case .open:
      result = try keys.open(label: own, passphrase)
      _ = try set([try PeerSettings.Assignment(name: "\(name).encrypt", value: "on")])
    case .add(let label): result = try keys.add(label: label ?? own, passphrase)
    case .remove(let label): result = try keys.remove(label: label)
    case .rotate(let label): result = try keys.rotate(label: label ?? own, passphrase)
    }
    log.add("peer", "\(name): key \(request.word)")
    return result
  }
}
