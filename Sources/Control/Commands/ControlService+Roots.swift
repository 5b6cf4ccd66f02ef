import Grammar
import LLVSCore
import TreeNames
import WorkingTree

/// The kinds of what a mount needs of old versions, besides the kinds of ``RootKind``. A send has no kind of its own:
/// it reads versions that the peer lacks, and what it has written into a bundle needs the store no more. A merge that
/// waits needs its heads and their bases, which are kept.
enum OutsideRootKind: CaseIterable, Sendable {
  /// What pending changes are made on, their saves, and the version that the tree shows.
  case workingTree
  /// Files of history that programs have open.
  case openHistory
  /// The versions that a peer lacks.
  case unsent
  /// The version that the next send to a peer continues from.
  case lastSent
  /// The newest version that came from each peer.
  case lastGiven
  /// The versions that those continue from which a retrieval could not take yet.
  case awaited
}

extension ControlService {
  /// Returns what the mount needs of old versions.
  func outsideRoots(
    _ kinds: [OutsideRootKind] = OutsideRootKind.allCases
  ) throws(StoreError) -> OutsideRoots {
    var roots = OutsideRoots()
    for kind in kinds { try add(kind, to: &roots) }
    return roots
  }

  private func add(_ kind: OutsideRootKind, to roots: inout OutsideRoots) throws(StoreError) {
    switch kind {
    case .workingTree:
      let tree = try tree.roots()
      roots.versions.formUnion(tree.versions)
      roots.contents += tree.contents
    case .openHistory: roots.contents += openHistory.all
    case .unsent:
      for peer in try lackingPeers() { roots.versions.formUnion(peer.versions) }
    case .lastSent:
      let newest = try store.state().lastNumber
      for state in try peerStates(isSentTo: true).map(\.state) where state.sent > 0 {
        roots.versions.insert(VersionNumber(min(state.sent, newest)))
      }
    case .lastGiven:
      try add(try peerStates().compactMap(\.state.given), to: &roots)
    case .awaited:
      try add(try peerStates().flatMap(\.state.awaited), to: &roots)
    }
  }

  private func add(_ ids: [Version.ID], to roots: inout OutsideRoots) throws(StoreError) {
    for id in ids {
      if let record = try store.version(id) { roots.versions.insert(record.number) }
    }
  }

  /// The peers and their states, without documents, which get the newest values alone.
  private func peerStates(
    isSentTo: Bool = false
  ) throws(StoreError) -> [(name: String, state: PeerState)] {
    let settings = try store.state().settings
    var found: [(name: String, state: PeerState)] = []
    for peer in try store.peers() {
      if case .document? = try? PeerAddress(peer.address) { continue }
      let direction = PeerSettings(of: peer.name, stored: settings).direction
      if isSentTo, direction == .retrieveOnly { continue }
      found.append((peer.name, PeerState(peer.state)))
    }
    return found
  }

  /// A peer that lacks versions, and a sentence without a period about it.
  struct LackingPeer {
    let versions: Set<VersionNumber>
    let note: String
  }

  func lackingPeers() throws(StoreError) -> [LackingPeer] {
    let newest = try store.state().lastNumber
    let forgotten = try store.forgottenVersions()
    var found: [LackingPeer] = []
    for (name, state) in try peerStates(isSentTo: true) {
      let lacking = state.countToSend(newest: newest)
      guard lacking > 0 else { continue }
      var versions: Set<VersionNumber> = []
      for number in min(state.sent, newest)..<newest { versions.insert(VersionNumber(number + 1)) }
      let gone = versions.count { forgotten.contains($0) }
      found.append(
        LackingPeer(
          versions: versions,
          note: Self.note(of: name, lacking: lacking, forgotten: min(gone, lacking))))
    }
    return found
  }

  private static func note(of peer: String, lacking: Int, forgotten: Int) -> String {
    let lacks = "\(peer) lacks \(PrintableText.count(lacking, "version"))"
    if forgotten == 0 { return "\(lacks), whose bytes are kept until it has them" }
    if forgotten == lacking { return "\(lacks), whose bytes are forgotten already" }
    return
      "\(lacks); the bytes of \(forgotten) are forgotten already, the others are kept until it has them"
  }
}
