package import Grammar
import LLVSCore
import LLVSExchange
import ObjectStores
import Platform

// A peer is recognised by the versions seen there. A place that had versions and shows none of them is an empty
// mount point, another stick or a wiped one: nothing is sent there until its user allows it.

extension ControlService {
  private static let contacts = WorkerPool(name: "llvs-peers")
  /// The longest wait for all peers before those are served that have answered, in nanoseconds.
  private static let patience: UInt64 = 5_000_000_000

  /// Asks all peers at once, and calls `body` with those whose places are the same as at the last exchange; reports
  /// the others. A peer that answers late holds up no other: then `body` is called twice, the second time with the
  /// peers that were served, too.
  func meet(
    _ peers: [Peer], comparingHistories: Bool, _ session: PeerSession,
    _ outcome: inout ExchangeOutcome,
    _ body: (_ ready: [Peer], _ served: [Peer], inout ExchangeOutcome) throws -> Void
  ) throws {
    let head = comparingHistories ? try ownHistory() : nil
    let answers = Monitor<[String: Result<Void, ControlError>]>([:])
    session.prepare(peers)
    for peer in peers {
      nonisolated(unsafe) let session = session
      let ask = { @Sendable [self] in
        let answer = Result { () throws(ControlError) in
          try checkPlace(of: peer, session)
          if PeerState(peer.state).countThere > 0 { session.noteAnswer(of: peer) }
          if let head { try checkHistory(of: peer, against: head, session) }
        }
        answers.withLock { $0[peer.name] = answer }
        answers.broadcast()
      }
      if peers.count == 1 { ask() } else { Self.contacts.run(ask) }
    }
    func answered(within time: UInt64?) -> [String: Result<Void, ControlError>]? {
      answers.wait(nanoseconds: time) { $0.count == peers.count ? $0 : nil }
    }
    // They use the session.
    defer { _ = answered(within: nil) }
    var met = answered(within: Self.patience) ?? answers.withLock { $0 }
    var (open, served, hasRun) = (peers, [Peer](), false)
    while !open.isEmpty || !hasRun {
      var ready: [Peer] = []
      for peer in open {
        guard let answer = met[peer.name] else { continue }
        do throws(ControlError) {
          try answer.get()
          ready.append(peer)
        } catch {
          if error.kind != .interrupted { record(error, with: peer) }
          fail(peer, error, session, &outcome)
          if error.kind == .interrupted { throw error }
        }
      }
      open.removeAll { met[$0.name] != nil }
      if !ready.isEmpty || open.isEmpty && !hasRun {
        hasRun = true
        try body(ready, served, &outcome)
        served += ready
      }
      if !open.isEmpty {
        let names = open.map(\.name).joined(separator: ", ")
        session.context.progress(CommandProgress("waiting for \(names)", done: 0, total: 0))
      }
      met = answered(within: nil) ?? [:]
    }
  }

  /// Throws if the place of a peer is away, is another than at the last exchange, or is not a peer's.
  func checkPlace(of peer: Peer, _ session: PeerSession) throws(ControlError) {
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
    guard let other = names.sorted().first(where: { !isOfSystem($0) }) else { return }
    throw ControlError(
      .exists,
      "\(path) holds other things (\(other)), and a peer has a directory of its own; make one: "
        + "mkdir \(path)/llvs; or write: llvs peer \(name) \(path) --force")
  }

  /// Returns true for a name of a program that synchronises folders, or of a file system's root.
  private static func isOfSystem(_ name: String) -> Bool {
    [
      ".llvs-", ".stfolder", ".stignore", ".stversions", ".sync", ".dropbox", ".owncloud",
      ".nextcloud", ".DS_Store", "._", ".Spotlight-", ".fseventsd", ".Trash", ".TemporaryItems",
      ".fuse_hidden", ".nfs", ".snapshot", ".directory", "lost+found", "System Volume Information",
      "$RECYCLE.BIN",
    ].contains { name.hasPrefix($0) }
  }

  // Peers with an unrelated history: another memory stick under the same path, or another user's folder. A sync would
  // keep versions from there, and send them to all other peers. So it neither retrieves nor sends anything there
  // until a user confirms that the two belong together.

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
        + "\"llvs merge \(id.rawValue) unrelated\" joins both histories")
  }
}

extension PeerAddress {
  /// A remote's place in messages: the path of a directory, or the address.
  static func place(_ address: RemoteAddress) -> String {
    guard case .directory(let path, _) = address else { return address.description }
    return path
  }
}
