import Grammar
import LLVSCore
import LLVSExchange

// Peers with an unrelated history: another memory stick under the same path, or another user's folder. A sync would
// keep versions from there, and send them to all other peers. So it neither retrieves nor sends anything there
// until a user confirms that the two belong together.

extension ControlService {
  /// Returns the peers that hold nothing or a history related to the tree's; reports the others as failed.
  func known(
    among peers: [Peer], _ session: PeerSession, _ outcome: inout ExchangeOutcome
  ) throws(ControlError) -> [Peer] {
    guard let head = try ownHistory() else { return peers }
    var known: [Peer] = []
    for peer in peers {
      // If the peer cannot be read, the exchange reports the reason.
      let found: Version.ID?
      do throws(ControlError) {
        found = try outline(of: peer, session).stranger(onLine: Self.branch(head.line))
      } catch {
        if error.kind == .interrupted { throw error }
        found = nil
      }
      guard let found else {
        known.append(peer)
        continue
      }
      let error = Self.stranger(found)
      record(error, with: peer)
      fail(peer, error, session, &outcome)
    }
    return known
  }

  /// Retrieves the history of a peer that a sync refuses, if a word names a version there.
  /// - Throws: ``ControlError`` of kind unrelated unless the user has allowed it with `isWelcome`.
  func takeStranger(
    _ word: String, isWelcome: Bool, _ context: CommandContext
  ) throws(ControlError) -> Version.ID? {
    guard let head = try ownHistory() else { return nil }
    let session = PeerSession(context)
    for peer in try allPeers() {
      let found: Version.ID?
      do throws(ControlError) {
        let outline = try outline(of: peer, session)
        let isStrange = outline.stranger(onLine: Self.branch(head.line)) != nil
        found = isStrange ? outline.version(meant: word) : nil
      } catch {
        if error.kind == .interrupted { throw error }
        continue
      }
      guard let found else { continue }
      guard isWelcome else { throw Self.stranger(found) }
      try run(.retrieve, with: peer, session)
      return found
    }
    return nil
  }

  /// Returns the head if only its own history merges with it; nil if it began empty.
  private func ownHistory() throws(ControlError) -> VersionRecord? {
    guard let head = try headRecord() else { return nil }
    return try translating { try store.graph.node(head.number).hasEmptyRoots } ? nil : head
  }

  private func outline(of peer: Peer, _ session: PeerSession) throws(ControlError) -> PlaceOutline {
    try asking(peer, session) { try $0.outline(for: store, $1) }
  }

  private static func stranger(_ id: Version.ID) -> ControlError {
    ControlError(
      .unrelated,
      "the folder belongs to another store, and nothing was exchanged; "
        + "\"merge \(id.rawValue) unrelated\" joins both histories")
  }
}
