import LLVS
import Platform

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
    for damage in report.damage { log.add("error", damage) }
    if let first = report.damage.first {
      let more = report.damage.count > 1 ? " (and \(report.damage.count - 1) more)" : ""
      throw ControlError(.damaged, first + more)
    }
    return CommandResult(
      "sound: \(report.versions) versions, \(report.entries) entries, \(report.bytes) bytes",
      [
        ReplyField("versions", report.versions), ReplyField("entries", report.entries),
        ReplyField("bytes", Int(clamping: report.bytes)),
      ])
  }

  /// Reads everything that a peer holds into a store of its own, which checks each hash, and compares the
  /// content of every version that is here too.
  private func verifyPeer(
    _ name: String, _ context: CommandContext
  ) throws(ControlError) -> CommandResult {
    guard let peer = try allPeers().first(where: { $0.name == name }) else {
      throw ControlError(.notFound, "there is no peer \(name)")
    }
    let remote = try opener.open(try PeerAddress(peer.address), store)
    let scratch = "\(store.path)/verify-\(SystemRandom.hex(8)).tmp"
    // What cannot be removed now is no part of the store.
    defer { try? FileSystem.removeTree(scratch) }
    var faults: [String] = []
    let (compared, report) = try translating(name) { () throws(StoreError) in
      let copy = try Store.open(path: scratch, mode: .writer, create: true, isForced: true)
      let control = ExchangeControl(
        isCancelled: context.isCancelled,
        progress: {
          context.progress(
            CommandProgress("\(name): verifying", done: $0.done, total: $0.total))
        })
      let report = try remote.retrieve(into: copy, control)
      faults += report.refused.map { "\($0.id.rawValue): \($0.reason)" }
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
      return (compared, report)
    }
    for fault in faults { log.add("error", "\(name): \(fault)") }
    if let first = faults.first {
      let more = faults.count > 1 ? " (and \(faults.count - 1) more)" : ""
      throw ControlError(.damaged, "\(name): \(first)\(more)")
    }
    return CommandResult(
      "\(name) is sound: \(report.taken.count) versions, \(compared) the same here",
      [
        ReplyField("peer", name), ReplyField("versions", report.taken.count),
        ReplyField("compared", compared), ReplyField("waiting", report.waiting.count),
      ])
  }
}
