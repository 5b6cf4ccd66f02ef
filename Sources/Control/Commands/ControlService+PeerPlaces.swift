package import Grammar
import LLVSCore
import LLVSExchange
import ObjectStores
import Platform

// A peer is recognised by the versions seen there. A place that had versions and shows none of them is an empty
// mount point, another stick or a wiped one: nothing is sent there until its user allows it.

extension ControlService {
  /// Returns the peers whose places are the same as at the last exchange; reports the others.
  func present(
    among peers: [Peer], _ session: PeerSession, _ outcome: inout ExchangeOutcome
  ) throws(ControlError) -> [Peer] {
    var present: [Peer] = []
    for peer in peers {
      do throws(ControlError) {
        try checkPlace(of: peer, session)
        if PeerState(peer.state).countThere > 0 { session.noteAnswer(of: peer) }
        present.append(peer)
      } catch {
        if error.kind != .interrupted { record(error, with: peer) }
        fail(peer, error, session, &outcome)
        if error.kind == .interrupted { throw error }
      }
    }
    return present
  }

  private func checkPlace(of peer: Peer, _ session: PeerSession) throws(ControlError) {
    guard case .remote(let address) = try PeerAddress(peer.address) else { return }
    let state = PeerState(peer.state)
    guard state.countThere == 0 else {
      let isKnown = try asking(peer, session) { remote, control in
        try remote.outline(for: store, control).isShared
      }
      guard !isKnown else { return }
      throw ControlError(
        .unreachable,
        "\(PeerAddress.place(address)) "
          + (state.countThere == 1
            ? "lacks the version that it had"
            : "holds none of the \(state.countThere) versions that it had")
          + ", and nothing was exchanged; plug in the right drive, or, if it was emptied on purpose: "
          + "llvs peer \(peer.name) --reset")
    }
    guard state.succeeded == nil, !state.isWelcome, case .directory(let path, _) = address else {
      return
    }
    // Other reasons against the place have precedence.
    guard try !asking(peer, session, { remote, _ in remote is StorePeer }) else { return }
    try Self.refuseOccupied(path, name: peer.name)
  }

  /// Throws if a directory is no peer's and contains other files.
  /// - Throws: ``ControlError`` of kind `exists`, with one of their names.
  package static func refuseOccupied(_ path: String, name: String) throws(ControlError) {
    // The exchange reports an unreadable directory.
    guard let names = try? FileSystem.list(path) else { return }
    let own: Set = ["versions", "changes", "bundles", "keys", "snapshots", "store.sqlite"]
    guard !names.contains(where: own.contains) else { return }
    // Programs that synchronise folders, and file systems, have hidden files of their own.
    guard let other = names.sorted().first(where: { !$0.hasPrefix(".") && $0 != "lost+found" })
    else { return }
    throw ControlError(
      .exists,
      "\(path) holds other things (\(other)), and a peer has a directory of its own; make one: "
        + "mkdir \(path)/llvs; or write: llvs peer \(name) \(path) --force")
  }
}

extension PeerAddress {
  /// A remote's place in messages: the path of a directory, or the address.
  static func place(_ address: RemoteAddress) -> String {
    guard case .directory(let path, _) = address else { return address.description }
    return path
  }
}
