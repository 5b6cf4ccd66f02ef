import Events
import Grammar
import LLVSCore
import LLVSExchange
import Platform
import WorkingTree

/// Checks every hash of the store and the working tree, of a peer, or the working tree alone.
struct VerifyCommand: Command {
  static let forms = [CommandForm("verify", "[PEER | --tree]")]

  enum Place: Hashable {
    case store
    case tree
    case peer(String)
  }

  let place: Place

  var title: String {
    switch place {
    case .store: "verify"
    case .tree: "verify --tree"
    case .peer(let name): "verify \(name)"
    }
  }

  var effect: CommandEffect { .change }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    switch place {
    case .store: try service.verifyStore(context)
    case .tree: try service.verifyTree(context)
    case .peer(let name): try service.verifyPeer(name, context)
    }
  }
}

extension VerifyCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    let word = try arguments.textIfAny()
    place = word == "--tree" ? .tree : word.map { .peer($0) } ?? .store
  }
}

extension ControlService {
  fileprivate func verifyStore(_ context: CommandContext) throws -> CommandResult {
    let report = try store.verify { done, total in
      context.progress(CommandProgress("verifying", done: done, total: total))
      return !context.isCancelled()
    }
    let damage = try report.damage + tree.faults(isCancelled: context.isCancelled)
    for damage in damage { log.add("error", damage) }
    if let first = damage.first {
      let more = damage.count > 1 ? " (and \(damage.count - 1) more, in the log)" : ""
      throw ControlError(.damaged, first + more)
    }
    return CommandResult(
      "no damage found: \(report.versions) versions, \(report.entries) files and directories, \(report.bytes) bytes",
      ["versions": report.versions, "entries": report.entries, "bytes": report.bytes])
  }

  fileprivate func verifyTree(_ context: CommandContext) throws -> CommandResult {
    let faults = try tree.faults(isCancelled: context.isCancelled)
    for fault in faults { log.add("error", fault) }
    return CommandResult(
      faults.isEmpty ? "no damage found in the working tree" : faults.joined(separator: "\n"),
      ["damage": faults])
  }

  /// Reads all of a peer into a temporary store, and compares the contents of the versions in both.
  fileprivate func verifyPeer(_ name: String, _ context: CommandContext) throws -> CommandResult {
    let peer = try peer(name)
    if case .document = try PeerAddress(peer.address) {
      let count = try asking(peer, PeerSession(context)) { remote, _ in
        try (remote as? DocumentPeer)?.verify() ?? 0
      }
      return CommandResult("sound: \(count) values", ["values": count])
    }
    let scratch = "\(store.path)/verify-\(SystemRandom.hex(8)).tmp"
    // Even if it cannot be removed now, it is no part of the store.
    defer { try? FileSystem.removeTree(scratch) }
    let session = PeerSession(context)
    let (compared, report, faults) = try asking(peer, session) { remote, control in
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
      "\(name): no damage found in \(report.taken.count) versions; \(compared) of them are the same here",
      [
        "peer": name, "versions": report.taken.count, "compared": compared,
        "waiting": report.waiting.count,
      ])
  }

  private static let faultsShown = 5

  /// Reads the peer's versions. If the peer lacks some of this store's, reads again with those added.
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
