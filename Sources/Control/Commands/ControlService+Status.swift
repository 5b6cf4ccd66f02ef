import Events
package import Grammar
import LLVSCore
import Platform
import TreeNames
import WorkingTree

extension ControlService {
  /// The state of the store, for people and for programs.
  package struct Status: Sendable {
    /// The lines for people.
    package var text: String
    /// The fields for programs.
    package var fields: [ReplyField]

    /// The fields as JSON.
    package var json: String { ReplyValue.record(fields).json }
  }

  /// Returns the state of the store; waits for no command. A part that is damaged is reported as
  /// damaged.
  ///
  /// - Complexity: O(pending + heads + peers).
  package func status() throws(ControlError) -> Status {
    var lines: [(String, String)] = []
    var fields: [ReplyField] = []
    fields += [ReplyField("ok", .flag(true)), ReplyField("store", store.path)]
    describePresence(&lines, &fields)
    try describe("head", &lines, &fields, describeHead)
    describePending(&lines, &fields)
    describeUnderWay(&lines, &fields)
    try describe("peers", &lines, &fields, describePeers)
    try describe("conflicts", &lines, &fields) { (lines, fields) throws(ControlError) in
      let conflicts = try countOpenConflicts()
      let told = conflicts == 0 ? [] : try firstConflicts()
      let names = told.map { item, sides in "\(PrintableText.text(item.path)) (\(sides.text))" }
      let more = conflicts > names.count && !names.isEmpty ? " ..." : ""
      let text = names.isEmpty ? "" : ": \(names.joined(separator: ", "))\(more)"
      lines.append(("conflicts", "\(conflicts)\(text)"))
      fields += [ReplyField("conflicts", conflicts), Self.field(told)]
    }
    describeArbiter(&lines, &fields)
    describeReserve(&lines, &fields)
    describeWithheld(&lines, &fields)
    let refusal = tree.refusal
    if let refusal { lines.append(("journal", refusal)) }
    fields.append(ReplyField("refusal", refusal.map { .text($0) } ?? .null))
    describeLast(&lines, &fields)
    fields.append(settingsField)
    let width = lines.reduce(9) { max($0, min($1.0.count, 24)) }
    let text = lines.map { name, value in
      name + String(repeating: " ", count: max(0, width - name.count) + 1)
        + PrintableText.harmless(value)
    }
    return Status(text: text.joined(separator: "\n"), fields: fields)
  }

  /// Adds a part, or reports that it is damaged: the status must still show everything else.
  private func describe(
    _ part: String, _ lines: inout [(String, String)], _ fields: inout [ReplyField],
    _ body: (inout [(String, String)], inout [ReplyField]) throws(ControlError) -> Void
  ) throws(ControlError) {
    let (before, known) = (lines, fields)
    do throws(ControlError) {
      try body(&lines, &fields)
    } catch {
      guard error.kind == .damaged else { throw error }
      lines = before + [(part, "damaged: \(error.message)")]
      fields = known + [ReplyField(part, .null), ReplyField("damaged", error.message)]
    }
  }

  /// Reports whether the store's directory is still at its path, which its open files do not show.
  private func describePresence(
    _ lines: inout [(String, String)], _ fields: inout [ReplyField]
  ) {
    var fault: String?
    do throws(StoreError) { try store.checkPresence() } catch {
      fault = ControlError(error).message
    }
    if let fault {
      lines.append(("store", fault))
      let isNew = state.withLock { state in
        defer { state.isGone = true }
        return !state.isGone
      }
      if isNew { log.add("error", fault) }
    }
    fields.append(ReplyField("storeFault", fault.map { .text($0) } ?? .null))
  }

  private func describeHead(
    _ lines: inout [(String, String)], _ fields: inout [ReplyField]
  ) throws(ControlError) {
    guard let head = try headRecord() else {
      lines.append(("head", "none yet"))
      fields += [
        ReplyField("head", .null), ReplyField("line", VersionRecord.unnamedLine),
        ReplyField("heads", 0), ReplyField("toMerge", 0),
      ]
      return
    }
    let (heads, others) = try countHeads(beside: head)
    var note = heads == 1 ? "1 head" : "\(heads) heads"
    if others > 0 { note += ", \(others) to merge" }
    let line =
      head.line == VersionRecord.unnamedLine
      ? "" : " on \(PrintableText.text(Array(head.line.utf8)))"
    lines.append(("head", "\(head.name)\(line)  (\(note))"))
    fields += [
      ReplyField("head", head.name), ReplyField("id", head.id.rawValue),
      ReplyField("line", head.line), ReplyField("heads", heads), ReplyField("toMerge", others),
    ]
    describeClock(head, &lines, &fields)
  }

  /// The number of heads of the head's line, and of those that it does not contain.
  private func countHeads(
    beside head: VersionRecord
  ) throws(ControlError) -> (all: Int, others: Int) {
    try translating { () throws(StoreError) in
      let heads = try store.graph.uncontainedHeads(ofLine: Self.branch(head.line))
      let own = try store.graph.node(head.number)
      var others = 0
      for other in heads where other.number != own.number {
        if try !store.graph.isContained(other, in: own) { others += 1 }
      }
      return (heads.count, others)
    }
  }

  /// The number of heads that a merge of this line would take in.
  func countToMerge() throws(ControlError) -> Int {
    if let head = try headRecord() { return try countHeads(beside: head).others }
    return try translating { () throws(StoreError) in
      try store.graph.uncontainedHeads(ofLine: nil).count
    }
  }

  /// Reports a head whose time is far ahead: new versions do not take their time from it
  /// (docs/merging.md, M4).
  private func describeClock(
    _ head: VersionRecord, _ lines: inout [(String, String)], _ fields: inout [ReplyField]
  ) {
    let now = Double(SystemClock.realtime().seconds) - 978_307_200
    let days = ((head.timestamp - now) / 86_400).rounded(.down)
    let ahead = days >= 1 ? Int64(exactly: days) : nil
    fields.append(ReplyField("daysAhead", ahead.map { .number($0) } ?? .null))
    guard let ahead else { return }
    lines.append(
      (
        "clock",
        "\(head.name) is \(ahead) days ahead of this clock: what is made now does not follow it"
      ))
  }

  private func describePending(
    _ lines: inout [(String, String)], _ fields: inout [ReplyField]
  ) {
    let pending = tree.pending()
    var text = "\(pending.changed) changed, \(pending.new) new, \(pending.removed) removed"
    if !pending.unsaved.isEmpty {
      text += "; \(pending.unsaved.count) not saved yet: \(Self.names(pending.unsaved))"
    }
    if !pending.beside.isEmpty {
      text +=
        "; \(pending.beside.count) saved beside what has their names: \(Self.names(pending.beside))"
    }
    let count = pending.changed + pending.new + pending.removed + pending.beside.count
    if !isBelowReserve, let due = pending.due, count > 0 {
      text += "; next version in \((due + 999_999_999) / 1_000_000_000) s"
    }
    if let left = holds.left {
      text += "; held out of versions by a program for \((left + 999_999_999) / 1_000_000_000) s"
    }
    lines.append(("pending", text))
    fields.append(
      ReplyField(
        "pending",
        .record([
          ReplyField("changed", pending.changed), ReplyField("new", pending.new),
          ReplyField("removed", pending.removed), ReplyField("unsaved", pending.unsaved),
          ReplyField("beside", pending.beside),
          ReplyField(
            "heldMilliseconds", holds.left.map { .number(Int64($0 / 1_000_000)) } ?? .null),
          ReplyField(
            "dueMilliseconds", pending.due.map { .number(Int64($0 / 1_000_000)) } ?? .null),
        ])))
  }

  private func describePeers(
    _ lines: inout [(String, String)], _ fields: inout [ReplyField]
  ) throws(ControlError) {
    var values: [ReplyValue] = []
    let newest = try translating { () throws(StoreError) in try store.state().lastNumber }
    let stored = try translating { () throws(StoreError) in try store.state().settings }
    for peer in try allPeers() {
      let state = PeerState(peer.state)
      let settings = PeerSettings(of: peer.name, stored: stored)
      let count =
        settings.direction == .retrieveOnly ? 0 : state.countToSend(newest: newest)
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
      if state.refused > 0 { parts.append("\(state.refused) refused: \(state.refusal)") }
      if state.waiting > 0 { parts.append("\(state.waiting) not whole yet") }
      if count > 0 { parts.append("\(count) version\(count == 1 ? "" : "s") to send") }
      parts += state.notes
      lines.append((peer.name, parts.joined(separator: "; ")))
      values.append(
        .record([
          ReplyField("name", peer.name),
          ReplyField("address", String(decoding: peer.address, as: UTF8.self)),
          ReplyField("lastOK", state.succeeded.map { .text(TimestampText.iso($0)) } ?? .null),
          ReplyField("failed", state.failed.map { .text(TimestampText.iso($0)) } ?? .null),
          ReplyField("message", state.message), ReplyField("toSend", count),
          ReplyField("refused", state.refused), ReplyField("refusal", state.refusal),
          ReplyField("waiting", state.waiting),
          ReplyField("notes", .list(state.notes.map { .text($0) })),
          ReplyField("direction", settings.direction.rawValue),
        ]))
    }
    fields.append(ReplyField("peers", .list(values)))
  }

  /// The makers of the sides of the first open conflicts.
  private func firstConflicts() throws(ControlError) -> [(item: OpenConflict, sides: ConflictSides)]
  {
    let paths = try translating { () throws(StoreError) in
      guard let head = try store.state().head, let record = try store.version(head) else {
        return [[UInt8]]()
      }
      let view = TreeView(map: store.map(record.map))
      return try store.openConflictKeys(at: head).prefix(Self.conflictsTold)
        .map { (key) throws(StoreError) in try view.path(of: key) }
    }
    return try sides(of: paths)
  }

  /// Reports the failures of arbiter commands in the newest merge.
  private func describeArbiter(_ lines: inout [(String, String)], _ fields: inout [ReplyField]) {
    let failures = tree.arbiterFailures.withLock { $0 }
    fields.append(ReplyField("arbiterFailures", failures?.count ?? 0))
    guard let failures else { return }
    let text = ArbiterTrials.text(failures.count, failures.first)
    lines.append(("arbiter", "\(TimestampText.short(failures.time)): \(text)"))
  }

  private func describeReserve(_ lines: inout [(String, String)], _ fields: inout [ReplyField]) {
    let isLow = isBelowReserve
    fields.append(ReplyField("belowReserve", .flag(isLow)))
    if isLow {
      let size = Measure.text(size: settings.reserve)
      lines.append(("space", "less than \(size) is free: no versions are made by themselves"))
    }
  }

  /// Reports the newest result; a failure, which stays until a command succeeds, with its time.
  private func describeLast(_ lines: inout [(String, String)], _ fields: inout [ReplyField]) {
    let last = state.withLock { $0.last }
    var text = last?.reply.text ?? "nothing yet"
    if let last, case .failed = last.reply { text += " (\(TimestampText.short(last.time)))" }
    lines.append(("last", text))
    fields.append(ReplyField("last", last.map { .text($0.reply.text) } ?? .null))
    fields.append(ReplyField("lastTime", last.map { .text(TimestampText.iso($0.time)) } ?? .null))
  }

  private func describeWithheld(_ lines: inout [(String, String)], _ fields: inout [ReplyField]) {
    let names = settings.withheld.map(\.rawValue)
    fields.append(ReplyField("withheld", .list(names.map { .text($0) })))
    guard !names.isEmpty else { return }
    lines.append(
      (
        "withheld",
        "\(names.joined(separator: ", ")): another user owns the store, and they run programs; set again if "
          + "they shall"
      ))
  }

  /// True if so little space is free that no automatic versions are made.
  package var isBelowReserve: Bool {
    guard let status = try? FileSystem.fileSystem(of: store.path) else { return false }
    return status.availableBytes < settings.reserve
  }
}
