import Events
import Grammar
import LLVSCore
import LLVSExchange
import WorkingTree

extension ControlService {
  /// Takes over the bundles of a writer whose device is lost: from now on this store keeps them few, and
  /// removes those that it replaced.
  func adopt(
    _ writer: String, at name: String, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    guard let peer = try allPeers().first(where: { $0.name == name }) else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    try asking(peer, PeerSession(context)) { (remote, control) throws(StoreError) in
      guard let bundles = remote.bundles else {
        throw .invalid("\(name) holds no bundles, which alone have writers")
      }
      try bundles.checkAdoption(of: writer, by: store, control)
    }
    try translating { () throws(StoreError) in
      try store.write { (transaction) throws(StoreError) in
        let stored = try store.state().settings
        let all = PeerSettings(of: name, stored: stored).adopted.union([writer])
        transaction.set(
          PeerSettings.adoptedKey(name), to: Array(all.sorted().joined(separator: " ").utf8))
      }
    }
    log.add("peer", "\(name): the bundles of \(writer) are kept by this store")
    return CommandResult(
      "this store keeps the bundles of \(writer) at \(name) from now on; should that device come back, it "
        + "writes under another name",
      [ReplyField("peer", name), ReplyField("writer", writer)])
  }
}
