import Events
import Grammar
import LLVSCore
import LLVSExchange
import Platform
import WorkingTree

extension ControlService {
  func verify(_ name: String?, _ context: CommandContext) throws(ControlError) -> CommandResult {
    guard let name else { return try verifyStore(context) }
    return try verifyPeer(name, context)
  }

  private func verifyStore(_ context: CommandContext) throws(ControlError) -> CommandResult {
    let report = try translating { () throws(StoreError) in
      try store.verify { done, total in
        context.progress(CommandProgress("verifying", done: done, total: total))
        return !context.isCancelled()
      }
    }
    let damage = try report.damage + treeFaults(context)
    for damage in damage { log.add("error", damage) }
    if let first = damage.first {
      let more = damage.count > 1 ? " (and \(damage.count - 1) more, in the log)" : ""
      throw ControlError(.damaged, first + more)
    }
    return CommandResult(
      "no damage found: \(report.versions) versions, \(report.entries) files and directories, \(report.bytes) bytes",
      [
        ReplyField("versions", report.versions), ReplyField("entries", report.entries),
        ReplyField("bytes", Int(clamping: report.bytes)),
      ])
  }

  /// Answers with all faults of the working tree.
  func verifyTree(_ context: CommandContext) throws(ControlError) -> CommandResult {
    let faults = try treeFaults(context)
    for fault in faults { log.add("error", fault) }
    return CommandResult(
      faults.isEmpty ? "no damage found in the working tree" : faults.joined(separator: "\n"),
      [ReplyField("damage", .list(faults.map { .text($0) }))])
  }

  private func treeFaults(_ context: CommandContext) throws(ControlError) -> [String] {
    try withoutActuallyEscaping(context.isCancelled) { isCancelled in
      Result { () throws(ControlError) in
        try translating { () throws(StoreError) in try tree.faults(isCancelled: isCancelled) }
      }
    }.get()
  }

  /// Reads everything that a peer holds into a temporary store, which checks each hash, and
  /// compares the contents of every version that this store has too.
  private func verifyPeer(
    _ name: String, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    guard let peer = try allPeers().first(where: { $0.name == name }) else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    if case .document = try PeerAddress(peer.address) {
      return try verifyDocument(peer, context)
    }
    let scratch = "\(store.path)/verify-\(SystemRandom.hex(8)).tmp"
    // If it cannot be removed now, it is still no part of the store.
    defer { try? FileSystem.removeTree(scratch) }
    let session = PeerSession(context)
    let (compared, report, faults) = try asking(peer, session) {
      (remote, control) throws(StoreError) in
      let copy = try Store.open(path: scratch, mode: .writer, create: true, isForced: true)
      let report = try readAll(of: remote, into: copy, control)
      var faults = (report.refused + report.waiting).map { fault in
        fault.reason.contains(fault.id.rawValue)
          ? fault.reason : "\(fault.id.rawValue): \(fault.reason)"
      }
      var compared = 0
      for id in report.taken {
        guard let theirs = try copy.version(id), let ours = try store.version(id) else { continue }
        compared += 1
        if theirs.map.digest != ours.map.digest {
          faults.append(
            "version \(id.rawValue): its content there is \(theirs.map.digest.hex), "
              + "here \(ours.map.digest.hex)")
        }
      }
      let gone = try store.versionsToSend(
        upTo: PeerState(peer.state).sent, without: Set(report.remoteIDs), control: control)
      if !gone.isEmpty {
        let what =
          gone.count == 1
          ? "1 version that was there is gone"
          : "\(gone.count) versions that were there are gone"
        let names = Self.names(gone.map { Array($0.name.utf8) })
        faults.append("\(what), and sent again with the next sync: \(names)")
      }
      return (compared, report, faults)
    }
    for fault in faults { log.add("error", "\(name): \(fault)") }
    if !faults.isEmpty {
      let shown = faults.prefix(Self.faultsShown).joined(separator: "; ")
      let more = faults.count - Self.faultsShown
      throw ControlError(
        .damaged, "\(name): \(shown)\(more > 0 ? " (and \(more) more, in the log)" : "")")
    }
    return CommandResult(
      "\(name): no damage found in \(report.taken.count) versions, \(compared) of which are the same here",
      [
        ReplyField("peer", name), ReplyField("versions", report.taken.count),
        ReplyField("compared", compared), ReplyField("waiting", report.waiting.count),
      ])
  }

  private func verifyDocument(
    _ peer: Peer, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    let count = try asking(peer, PeerSession(context)) { (remote, _) throws(StoreError) in
      try (remote as? DocumentPeer)?.verify() ?? 0
    }
    return CommandResult("sound: \(count) values", [ReplyField("values", count)])
  }

  private static let faultsShown = 5

  /// Reads the peer's versions; if some that this store has are missing there, reads again with
  /// those added.
  private func readAll(
    of remote: any RemoteLayout, into copy: Store, _ control: ExchangeControl
  ) throws(StoreError) -> ExchangeReport {
    var report = try remote.verify(into: copy, control)
    var here: Set<Version.ID> = []
    for id in report.absent {
      if try store.version(id) != nil { here.insert(id) }
    }
    guard !here.isEmpty else { return report }
    try copy.takeIn(here, from: store, control: control)
    // Versions that are still missing are missing in both places.
    report.waiting = []
    report.add(try remote.verify(into: copy, control))
    return report
  }
}
