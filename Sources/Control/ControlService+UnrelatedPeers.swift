import Grammar
import LLVSCore
import LLVSExchange

// Peers that hold a history which has nothing to do with this one: another stick under the same path, a folder
// of somebody else. What a sync took from there would be here, and with all other peers, for good, so it takes
// and sends nothing before somebody says that the two belong together.

extension ControlService {
  /// The peers that hold nothing, or what is of one history with the tree; the others are told of as failed.
  func known(
    among peers: [Peer], _ context: CommandContext, _ outcome: inout ExchangeOutcome
  ) throws(ControlError) -> [Peer] {
    guard let head = try ownHistory() else { return peers }
    var known: [Peer] = []
    for peer in peers {
      // Where it cannot be looked at, the exchange says why.
      let found: Version.ID?
      do throws(ControlError) {
        found = try outline(of: peer, context).stranger(onLine: Self.branch(head.line))
      } catch {
        if error.kind == .interrupted { throw error }
        found = nil
      }
      guard let found else {
        known.append(peer)
        continue
      }
      let error = Self.stranger(found)
      note(error, with: peer)
      outcome.fail(ControlError(error.kind, "\(peer.name): \(error.message)"))
    }
    return known
  }

  /// Takes in the history of a peer that a sync refuses, where a word means a version there and nothing here.
  ///
  /// - Returns: that version; nil where there is none.
  /// - Throws: ``ControlError`` of kind unrelated where nobody said that it `isWelcome`.
  func takeStranger(
    _ word: String, isWelcome: Bool, _ context: CommandContext
  ) throws(ControlError) -> Version.ID? {
    guard let head = try ownHistory() else { return nil }
    for peer in try allPeers() {
      let found: Version.ID?
      do throws(ControlError) {
        let outline = try outline(of: peer, context)
        let isStrange = outline.stranger(onLine: Self.branch(head.line)) != nil
        found = isStrange ? outline.version(meant: word) : nil
      } catch {
        if error.kind == .interrupted { throw error }
        continue
      }
      guard let found else { continue }
      guard isWelcome else { throw Self.stranger(found) }
      try run(.retrieve, with: peer, context)
      return found
    }
    return nil
  }

  /// The head, where no history but its own can be merged with it: one that began empty merges with others.
  private func ownHistory() throws(ControlError) -> VersionRecord? {
    guard let head = try headRecord() else { return nil }
    let hasEmptyRoots = try translating { () throws(StoreError) in
      try store.graph.node(head.number).hasEmptyRoots
    }
    return hasEmptyRoots ? nil : head
  }

  private func outline(
    of peer: Peer, _ context: CommandContext
  ) throws(ControlError) -> PlaceOutline {
    try asking(peer, context) { (remote, control) throws(StoreError) in
      try remote.outline(for: store, control)
    }
  }

  private static func stranger(_ id: Version.ID) -> ControlError {
    ControlError(
      .unrelated,
      "what is there has no common ancestor with the tree, so nothing was taken or sent; "
        + "\"merge \(id.rawValue) unrelated\" takes it in and merges it")
  }
}
