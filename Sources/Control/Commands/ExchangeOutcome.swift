import Grammar

/// The outcome of exchanging with some peers, reported even if a part of it failed.
struct ExchangeOutcome {
  struct PeerOutcome {
    enum State: String {
      case ok
      /// The peer is absent; no failure unless a user named it.
      case away
      case failed
      case interrupted
    }

    let name: String
    /// The numbers of versions; nil if that half did not begin.
    var retrieved: Int?
    var sent: Int?
    var refused = 0
    var waiting = 0
    /// The versions that were found there and could not be read.
    var unreadable = 0
    /// How many those are and why; nil if there are none.
    var incomplete: String?
    var retrieving: [String] = []
    var sending: [String] = []
    var state = State.ok
    var message = ""

    /// The end of a note on bundles that could not be read.
    static let moreFromVerify = "says more"

    /// Notes that the send replaced all bundles that could not be read before it.
    mutating func noteWhole() {
      guard unreadable == 0 else { return }
      (incomplete, refused, waiting) = (nil, 0, 0)
      retrieving.removeAll { $0.hasPrefix("INCOMPLETE") || $0.hasSuffix(Self.moreFromVerify) }
    }

    var reply: ReplyValue {
      [
        "peer": name, "state": state.rawValue, "retrieved": retrieved ?? 0, "sent": sent ?? 0,
        "refused": refused, "waiting": waiting, "unreadable": unreadable,
        "incomplete": incomplete,
        "message": message,
      ]
    }

    /// A line of what came and went, and one for each other fact.
    var lines: [String] {
      guard state != .away else { return ["\(name) is away: \(message)"] }
      let moved = [("received", retrieved), ("sent", sent)].compactMap { verb, count in
        count.map { "\(verb) \($0 == 0 ? "nothing" : $0 == 1 ? "1 version" : "\($0) versions")" }
      }
      let notes = retrieving + sending.filter { !retrieving.contains($0) }
      return ((moved.isEmpty ? [] : [moved.joined(separator: ", ")]) + notes)
        .map { "\(name): \($0)" }
    }
  }

  private(set) var peers: [PeerOutcome] = []
  /// Nil if none was made; likewise for the merge.
  var commit: Commit?
  var merge: MergeOutcome?
  /// The heads that wait for a merge, if none was requested.
  var waitingHeads = 0
  /// The first failure; its message includes the others.
  private(set) var failure: ControlError?

  mutating func note(_ name: String, _ change: (inout PeerOutcome) -> Void) {
    let index = peers.firstIndex { $0.name == name } ?? peers.count
    if index == peers.count { peers.append(PeerOutcome(name: name)) }
    change(&peers[index])
  }

  /// Notes a merge; one of late peers that did nothing hides none before it.
  mutating func note(_ new: MergeOutcome) {
    if case .nothing = new.result, merge != nil { return }
    merge = new
  }

  func isOver(_ name: String) -> Bool { peers.contains { $0.name == name && $0.state != .ok } }

  /// Notes a failure; the first one decides the command's result.
  mutating func fail(_ error: ControlError) {
    guard let known = failure else {
      failure = error
      return
    }
    guard !known.message.contains(error.message) else { return }
    failure = ControlError(known.kind, "\(known.message); \(error.message)")
  }

  /// Makes it a failure if all peers are absent.
  mutating func failIfAllAreAway() {
    guard failure == nil, !peers.isEmpty, peers.allSatisfy({ $0.state == .away }) else { return }
    for index in peers.indices {
      peers[index].state = .failed
      fail(ControlError(.unreachable, "\(peers[index].name): \(peers[index].message)"))
    }
  }

  /// Makes it a failure if something at a peer could not be read.
  mutating func failIfIncomplete() {
    for peer in peers where peer.incomplete != nil {
      fail(
        ControlError(
          .damaged,
          "\(peer.name) is incomplete: \"llvs verify \(peer.name)\" says what is wrong, and a sync of a machine "
            + "that has it fills it"))
    }
  }

  mutating func interrupt() {
    let done = peers.compactMap { peer -> String? in
      guard peer.state == .interrupted else { return nil }
      return peer.message.isEmpty ? nil : "\(peer.name): \(peer.message)"
    }
    failure = ControlError(
      .interrupted, done.isEmpty ? "interrupted" : "interrupted; \(done.joined(separator: "; "))")
  }

  /// A line for each fact.
  var text: String {
    var lines: [String] = []
    if let commit { lines.append((commit.made ?? "No changes here") + commit.notes) }
    let met = peers.filter { $0.state != .away }
    lines += (met + peers.filter { $0.state == .away }).flatMap(\.lines)
    switch merge?.result {
    case .merged(_, let told)?: lines += told
    case .moved(let name)?: lines.append("now at \(name)")
    case .waiting(let text)?: lines.append(text)
    case .nothing?, nil: break
    }
    if waitingHeads > 0 {
      lines.append("\(waitingHeads) head\(waitingHeads == 1 ? "" : "s") to merge")
    }
    return lines.joined(separator: "\n")
  }

  func reply(head: String?, openConflicts: Int) -> ReplyValue {
    let merged = merge?.reply ?? [:]
    let none = ReplyValue.list([])
    return [
      "head": head, "peers": peers.map(\.reply), "conflicts": merged["conflicts"] ?? none,
      "conflictSides": merged["conflictSides"] ?? none,
      "arbiterFailures": merged["arbiterFailures"] ?? none, "openConflicts": openConflicts,
    ]
  }
}
