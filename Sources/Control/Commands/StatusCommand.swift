import Events
package import Grammar
import Inodes
import LLVSCore
import Platform
import TreeNames
import WorkingTree

struct StatusCommand: Command {
  static let forms = [CommandForm("status")]
  var effect: CommandEffect { .query }

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    service.tree.awaitShown()
    let status = try service.status()
    return CommandResult(status.text, status.reply)
  }
}

extension StatusCommand {
  init(_ arguments: inout Arguments) {}
}

package struct StoreStatus: Sendable {
  private var lines: [(name: String, value: String)] = []
  package private(set) var reply: ReplyValue
  fileprivate init(_ reply: ReplyValue) { self.reply = reply }

  fileprivate mutating func add(_ name: String, _ line: String?, _ reply: ReplyValue = [:]) {
    if let line { lines.append((name, line)) }
    self.reply += reply
  }

  package var text: String {
    let width = lines.reduce(9) { max($0, min($1.name.count, 24)) }
    return lines.map { name, value in
      name + String(repeating: " ", count: max(0, width - name.count) + 1)
        + PrintableText.harmless(value)
    }.joined(separator: "\n")
  }
}

extension ControlService {
  /// Returns the state of the store, with damaged parts reported as damaged; waits for no command.
  /// - Complexity: O(pending + heads + peers).
  package func status() throws(ControlError) -> StoreStatus { try translating { try describe() } }

  private func describe() throws -> StoreStatus {
    var status = StoreStatus(["ok": true, "store": store.path])
    describePresence(&status)
    try describe("head", &status, describeHead)
    describePending(&status)
    try describe("ignored", &status) { status in
      let paths = try tree.files.scratchWithoutPattern().map(\.bytes)
      let count = PrintableText.count(paths.count, "ignored file stays", "ignored files stay")
      status.add(
        "ignored",
        paths.isEmpty
          ? nil
          : "\(count) out of versions, though no pattern matches any more: \(Self.names(paths)) "
            + "(\"track PATH\" puts it in)", ["ignored": paths])
    }
    try describe("mergeWait", &status) { status in
      let waiting = try waitingMerge()
      status.add("waiting", waiting?.text, ["mergeWait": waiting?.reply])
    }
    describeUnderWay(&status)
    try describe("peers", &status, describePeers)
    try describe("conflicts", &status) { status in
      let conflicts = try countOpenConflicts()
      let told = conflicts == 0 ? [] : try firstConflicts()
      let names = told.map { item, sides in "\(PrintableText.text(item.path)) (\(sides.text))" }
      let more = conflicts > names.count && !names.isEmpty ? " ..." : ""
      let text = names.isEmpty ? "" : ": \(names.joined(separator: ", "))\(more)"
      status.add(
        "conflicts", "\(conflicts)\(text)",
        ["conflicts": conflicts, "conflictSides": Self.reply(told)])
    }
    let failures = tree.arbiterFailures.withLock { $0 }
    status.add(
      "arbiter",
      failures.map {
        "\(TimestampText.short($0.time)): \(ArbiterTrials.text($0.count, $0.first))"
      }, ["arbiterFailures": failures?.count ?? 0])
    let isLow = isBelowReserve
    let size = Measure.text(size: settings.reserve)
    status.add(
      "space", isLow ? "less than \(size) is free: no versions are made by themselves" : nil,
      ["belowReserve": isLow])
    describeCompaction(&status)
    let withheld = settings.withheld.map(\.rawValue)
    status.add(
      "withheld",
      withheld.isEmpty
        ? nil
        : "\(withheld.joined(separator: ", ")): another user owns the store, and they run programs; set again if "
          + "they shall", ["withheld": withheld])
    let refusal = tree.refusal
    status.add("journal", refusal, ["refusal": refusal])
    let failed = hooks.failures(in: settings)
    let text = failed.isEmpty ? nil : failed.joined(separator: "; ")
    status.add("hooks", text, ["failedHooks": failed])
    describeLast(&status)
    let settings = settings
    let values = StoreSettings.Name.allCases.map {
      ReplyField($0.rawValue, .text(settings.text(of: $0)))
    }
    status.add("settings", nil, ["settings": ReplyValue.record(values)])
    return status
  }

  /// Adds a part, or reports that it is damaged: the status must still show everything else.
  private func describe(
    _ part: String, _ status: inout StoreStatus, _ body: (inout StoreStatus) throws -> Void
  ) throws {
    let before = status
    do {
      try body(&status)
    } catch {
      let error = ControlError(any: error)
      guard error.kind == .damaged else { throw error }
      status = before
      status.add(
        part, "damaged: \(error.message)", [part: ReplyValue.null, "damaged": error.message])
    }
  }

  /// Reports if the store's directory is no longer at its path; its open files do not show this.
  private func describePresence(_ status: inout StoreStatus) {
    var fault: String?
    do throws(StoreError) { try store.checkPresence() } catch {
      fault = ControlError(error).message
    }
    status.add("store", fault, ["storeFault": fault])
    guard let fault else { return }
    let isNew = state.withLock { state in
      defer { state.isGone = true }
      return !state.isGone
    }
    if isNew { log.add("error", fault) }
  }

  private func describeHead(_ status: inout StoreStatus) throws {
    guard let head = try headRecord() else {
      return status.add(
        "head", "none yet",
        ["head": ReplyValue.null, "line": VersionRecord.unnamedLine, "heads": 0, "toMerge": 0])
    }
    let (heads, others) = try countHeads(of: head)
    var note = PrintableText.count(heads, "head")
    if others > 0 { note += ", \(others) to merge" }
    let line =
      head.line == VersionRecord.unnamedLine
      ? "" : " on \(PrintableText.text(Array(head.line.utf8)))"
    status.add(
      "head", "\(head.name)\(line)  (\(note))",
      [
        "head": head.name, "id": head.id.rawValue, "line": head.line, "heads": heads,
        "toMerge": others,
      ])
    // New versions do not take their time from a head that is far ahead (docs/merging.md, M4).
    let now = Double(SystemClock.realtime().seconds) - 978_307_200
    let days = ((head.timestamp - now) / 86_400).rounded(.down)
    let ahead = days >= 1 ? Int64(exactly: days) : nil
    status.add(
      "clock",
      ahead.map {
        "\(head.name) is \($0) days ahead of this clock: what is made now does not follow it"
      }, ["daysAhead": ahead])
  }

  private func countHeads(of head: VersionRecord) throws -> (all: Int, others: Int) {
    let heads = try store.graph.uncontainedHeads(ofLine: Self.branch(head.line))
    return (heads.count, try self.heads(otherThan: head).count)
  }

  /// Returns the heads of a version's line that are to be merged with the version.
  func heads(otherThan head: VersionRecord) throws -> [HistoryNode] {
    let own = try store.graph.node(head.number)
    return try store.graph.uncontainedHeads(ofLine: Self.branch(head.line)).filter {
      try $0.number != own.number && !store.graph.isContained($0, in: own)
    }
  }

  func countToMerge() throws -> Int {
    guard let head = try headRecord() else {
      return try store.graph.uncontainedHeads(ofLine: nil).count
    }
    return try countHeads(of: head).others
  }

  private func describePending(_ status: inout StoreStatus) {
    let pending = tree.pending()
    var text = "\(pending.changed) changed, \(pending.new) new, \(pending.removed) removed"
    if !pending.unsaved.isEmpty {
      text += "; \(pending.unsaved.count) not saved yet: \(Self.names(pending.unsaved))"
    }
    if !pending.beside.isEmpty {
      text +=
        "; \(pending.beside.count) saved under names of other files: \(Self.names(pending.beside))"
    }
    let count = pending.changed + pending.new + pending.removed + pending.beside.count
    if !isBelowReserve, let due = pending.due, count > 0 {
      text += "; next version in \((due + 999_999_999) / 1_000_000_000) s"
    }
    let left = holds.left
    if let left {
      text += "; held out of versions by a program for \((left + 999_999_999) / 1_000_000_000) s"
    }
    let reply: ReplyValue = [
      "changed": pending.changed, "new": pending.new, "removed": pending.removed,
      "unsaved": pending.unsaved, "beside": pending.beside,
      "heldMilliseconds": left.map { $0 / 1_000_000 },
      "dueMilliseconds": pending.due.map { $0 / 1_000_000 },
    ]
    status.add("pending", text, ["pending": reply])
  }

  /// Tells when old versions were forgotten last, and what the newest look found; finds out nothing itself.
  private func describeCompaction(_ status: inout StoreStatus) {
    let record = compactionRecord
    let keep = settings.keep
    let estimate = record.estimate.flatMap { $0.keep == keep.text ? $0 : nil }
    var parts = [keep.text]
    if let run = record.run {
      parts.append(
        run.versions == 0
          ? "\(ByteCount.text(run.freed)) of forgotten versions came free \(TimestampText.short(run.time))"
          : "forgot \(PrintableText.count(run.versions, "version")) \(TimestampText.short(run.time)), "
            + "\(ByteCount.text(run.freed)) came free")
    }
    if let estimate, estimate.bytes > 0 {
      parts.append(
        "\"llvs compact\" would free \(ByteCount.text(estimate.bytes)) (as of \(TimestampText.short(estimate.time)))"
      )
    }
    let reply: ReplyValue = [
      "ran": record.run.map { TimestampText.iso($0.time) }, "versions": record.run?.versions,
      "freedBytes": record.run?.freed, "forgettableBytes": estimate?.bytes,
      "forgettableVersions": estimate?.versions,
      "seen": estimate.map { TimestampText.iso($0.time) },
      "clockDoubt": record.clock?.doubt.map { TimestampText.iso($0) },
    ]
    if record.clock?.doubt != nil, !keep.keepsEverything {
      parts.append("nothing is forgotten, because the clock went back or leapt")
    }
    let isShown = !keep.keepsEverything || record.run != nil
    status.add("keep", isShown ? parts.joined(separator: "; ") : nil, ["compaction": reply])
  }

  private func describeUnderWay(_ status: inout StoreStatus) {
    let all = underWay.withLock { $0.commands.sorted { $0.key < $1.key } }
    for (_, (title, now)) in all {
      let steps = now.total > 0 ? " \(now.steps)" : ""
      status.add("running", now.what.isEmpty ? title : "\(title): \(now.what)\(steps)")
    }
    let running = all.map { _, command -> ReplyValue in
      let (title, now) = command
      return [
        "command": title, "what": now.what, "done": now.done, "total": now.total,
        "isBytes": now.isBytes,
      ]
    }
    status.add("running", nil, ["running": running])
  }

  private func describePeers(_ status: inout StoreStatus) throws {
    var values: [ReplyValue] = []
    let state = try store.state()
    let (newest, stored) = (state.lastNumber, state.settings)
    for peer in try store.peers() {
      let state = PeerState(peer.state)
      let settings = PeerSettings(of: peer.name, stored: stored)
      let count = settings.direction == .retrieveOnly ? 0 : state.countToSend(newest: newest)
      var parts: [String] = []
      if settings.direction != .both { parts.append(settings.direction.rawValue) }
      if let failed = state.failed {
        parts.append("failed \(TimestampText.short(failed)): \(state.message)")
        if let ok = state.succeeded { parts.append("last ok \(TimestampText.short(ok))") }
      } else if let ok = state.succeeded {
        parts.append("\(state.refused > 0 ? "exchanged" : "ok") \(TimestampText.short(ok))")
      } else {
        parts.append("never exchanged")
      }
      if !state.incomplete.isEmpty {
        parts.append("INCOMPLETE there: \(state.incomplete)")
      } else if state.refused > 0 {
        parts.append("\(state.refused) refused: \(state.refusal)")
      }
      if count > 0, state.failed == nil || !state.message.hasSuffix(Self.unsent) {
        parts.append("\(PrintableText.count(count, "version")) to send")
      }
      parts += state.notes
      status.add(peer.name, parts.joined(separator: "; "))
      values.append([
        "name": peer.name, "address": peer.address,
        "lastOK": state.succeeded.map { TimestampText.iso($0) },
        "failed": state.failed.map { TimestampText.iso($0) }, "message": state.message,
        "toSend": count, "refused": state.refused, "refusal": state.refusal,
        "waiting": state.waiting, "incomplete": state.incomplete.isEmpty ? nil : state.incomplete,
        "notes": state.notes, "direction": settings.direction.rawValue,
      ])
    }
    status.add("peers", nil, ["peers": values])
  }

  /// The end of a failure that says how many versions are to be sent.
  package static let unsent = " could not be sent"

  private func firstConflicts() throws -> [(item: OpenConflict, sides: ConflictSides)] {
    guard let head = try headRecord() else { return [] }
    let view = TreeView(map: store.map(of: head))
    return try sides(
      of: store.openConflictKeys(at: head.number).prefix(Self.conflictsTold)
        .map { try view.path(of: $0) })
  }

  /// Reports the newest result; a failure, with its time, until a command succeeds.
  private func describeLast(_ status: inout StoreStatus) {
    let last = state.withLock { $0.last }
    var text = last?.reply.text ?? "nothing yet"
    if let last, case .failed = last.reply { text += " (\(TimestampText.short(last.time)))" }
    status.add(
      "last", text,
      [
        "last": last?.reply.text, "lastTime": last.map { TimestampText.iso($0.time) },
        "lastIsFault": last?.isFault ?? false,
      ])
  }

  /// True if free space is too low for automatic versions.
  package var isBelowReserve: Bool {
    guard let status = try? FileSystem.fileSystem(of: store.path) else { return false }
    return status.availableBytes < settings.reserve
  }
}
