import Events
import Grammar
import LLVSCore
import LLVSExchange

/// Adopts a lost device's bundles: this store reduces their number and removes those that it replaced.
struct AdoptCommand: Command {
  static let forms = [CommandForm("adopt", "PEER WRITER")]
  let peer: String
  let writer: String

  init(_ arguments: inout Arguments) throws(ControlError) {
    peer = try arguments.text("a peer")
    writer = try arguments.text("a writer")
  }

  var title: String { "adopt \(peer) \(writer)" }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let store = service.store
    try service.asking(try service.peer(peer), PeerSession(context)) { remote, control in
      guard let bundles = remote.bundles else {
        throw StoreError.invalid("\(peer) holds no bundles, which alone have writers")
      }
      try bundles.checkAdoption(of: writer, by: store, control)
    }
    try store.write { (transaction) throws(StoreError) in
      let all = PeerSettings(of: peer, stored: try store.state().settings).adopted.union([writer])
      transaction.set(
        PeerSettings.adoptedKey(peer), to: Array(all.sorted().joined(separator: " ").utf8))
    }
    service.log.add("peer", "\(peer): the bundles of \(writer) are kept by this store")
    return CommandResult(
      "this store keeps the bundles of \(writer) at \(peer) from now on; should that device come back, it "
        + "writes under another name", ["peer": peer, "writer": writer])
  }
}
