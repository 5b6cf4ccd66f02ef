import Grammar
import LLVSCore
import LLVSExchange

// Peers with an unrelated history: another memory stick under the same path, or another user's folder. A sync would
// keep versions from there, and send them to all other peers. So it neither retrieves nor sends anything there
// until a user confirms that the two belong together.

extension ControlService {
  /// Throws if a peer holds a history unrelated to the tree's.
  func checkHistory(
    of peer: Peer, against head: VersionRecord, _ session: PeerSession
  ) throws(ControlError) {
    let found: Version.ID?
    do throws(ControlError) {
      found = try outline(of: peer, session).stranger(onLine: Self.branch(head.line))
    } catch {
      // If the peer answers and cannot be read, the exchange reports the reason.
      guard error.kind != .interrupted, error.kind != .unreachable, error.kind != .timedOut else {
        throw error
      }
      return
    }
    if let found { throw Self.stranger(found) }
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
  func ownHistory() throws(ControlError) -> VersionRecord? {
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
