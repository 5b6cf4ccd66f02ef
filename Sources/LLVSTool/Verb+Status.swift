import Control
import Foundation
import Grammar
import LLVSCore
import Platform
import Reports
import TreeNames

extension Verb {
  @Sendable static func status(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(0...0)
    let site = try CommandTarget(line)
    let json: String
    let ask: (String) throws -> String
    switch site {
    case .mounted(let tree, _):
      json = try CommandTarget.status(of: tree.root)
      ask = { try site.run([$0], console).text }
    case .store:
      let service = try ControlService.open(try site.writer())
      json = try service.status().reply.json
      ask = { try service.run([Array($0.utf8)]).text }
    }
    guard !line.isJSON else {
      console.tell(json)
      return .done
    }
    let report = try StoreReport(json: json)
    let store = try site.reader()
    for line in try report.lines(store: store, ask: ask) { console.tell(line) }
    return .done
  }
}

extension CommandTarget {
  static func status(of root: String) throws -> String {
    String(
      decoding: try FileSystem.read("\(root)/.llvs/status.json", atMost: 64 << 20), as: UTF8.self)
  }
}

struct StoreReport: Decodable {
  struct Pending: Decodable {
    var unsaved: [String]
    var beside: [String]
    var dueMilliseconds: Int?
  }

  struct Running: Decodable {
    var command: String
    var what: String
    var done: Int
    var total: Int
    var isBytes: Bool

    var progress: CommandProgress {
      CommandProgress(what, done: done, total: total, isBytes: isBytes)
    }
  }

  struct Peer: Decodable {
    var name: String
    var direction: String
    var failed: String?
    var lastOK: String?
    var message: String
    var refused: Int
    var refusal: String
    var incomplete: String?
    var toSend: Int
    var notes: [String]
  }

  struct MergeWait: Decodable {
    var text: String
  }

  struct Compaction: Decodable {
    var ran: String?
    var versions: Int?
    var freedBytes: UInt64?
    var forgettableBytes: UInt64?
    var seen: String?
    var clockDoubt: String?
  }

  var store: String
  var storeFault: String?
  var head: String?
  /// The whole days that the head is ahead of this clock.
  var daysAhead: Int?
  var line: String?
  var toMerge: Int?
  /// Nil unless a merge waits for bytes.
  var mergeWait: MergeWait?
  var conflicts: Int?
  var pending: Pending?
  /// Scratch that no pattern matches any more.
  var ignored: [String]?
  var running: [Running]?
  var peers: [Peer]?
  var compaction: Compaction?
  var belowReserve: Bool?
  var last: String?
  var lastTime: String?
  var lastIsFault: Bool?
  var failedHooks: [String]?
  private static let pathsShown = 10

  init(json: String) throws {
    do {
      self = try JSONDecoder().decode(StoreReport.self, from: Data(json.utf8))
    } catch {
      throw ControlError(.damaged, "the status cannot be read")
    }
  }

  private static func ago(_ time: String?) -> String? {
    time.flatMap { TimestampText.seconds(iso: $0) }.map { TimestampText.ago(seconds: $0) }
  }

  /// Returns the lines to print; `ask` runs a command and returns its reply.
  func lines(store: Store, ask: (String) throws -> String) throws -> [String] {
    var lines = try [headLine(store)] + pendingLines(try ask("pending"))
    if let ignored, !ignored.isEmpty {
      lines.append(
        "Ignored, and still in no version, though no pattern matches any more; \"llvs track PATH\" puts one "
          + "in:")
      lines += Self.shortened(ignored.joined(separator: "\n"))
    }
    if let text = mergeWait?.text {
      lines.append(text.prefix(1).uppercased() + text.dropFirst() + ".")
    } else if let count = toMerge, count > 0 {
      lines.append("\(PrintableText.count(count, "other head")) to merge with \"llvs merge\".")
    }
    if let count = conflicts, count > 0 {
      lines.append(
        "\(PrintableText.count(count, "conflict")) open; \"llvs help settle\" says what to do:")
      lines += Self.shortened(try ask("conflicts"))
    }
    lines += (running ?? []).map { command in
      let steps = command.total > 0 ? ", \(command.progress.steps)" : ""
      let what = command.what.isEmpty ? "" : ": \(command.what)\(steps)"
      return "Now running: \(command.command)\(what)."
    }
    if let peers, !peers.isEmpty {
      lines += ["Peers:"] + peers.map { "  \($0.name): \(Self.text(of: $0))" }
    } else {
      lines.append("No peers: \"llvs peer NAME ADDRESS\" adds one.")
    }
    if let compaction { lines += Self.lines(of: compaction) }
    if let daysAhead, let head {
      let days = PrintableText.count(daysAhead, "day")
      lines.append(
        "\(head) is \(days) ahead of this machine's clock. Check the clocks: new versions do not take their time "
          + "from that version.")
    }
    if let storeFault { lines.append("Nothing is stored any more: \(storeFault).") }
    if belowReserve == true {
      lines.append("Little space is free, so no versions are made by themselves.")
    }
    lines += (failedHooks ?? []).map { "The last error of a hook: \($0)." }
    if lastIsFault == true, let last, case .failed(let message) = ControlReply(last),
      !(peers ?? []).contains(where: { $0.failed != nil && message.hasSuffix($0.message) })
    {
      let time = Self.ago(lastTime).map { " was \($0)" } ?? ""
      lines.append("The last error\(time): \(message).")
    }
    return lines
  }

  private func headLine(_ store: Store) throws -> String {
    let line = line ?? VersionRecord.unnamedLine
    let place = line == VersionRecord.unnamedLine ? "On the unnamed line" : "On branch \(line)"
    guard let head else {
      return line == VersionRecord.unnamedLine ? "No version yet." : "\(place), no version yet."
    }
    let record = try store.version(named: head)
    let age = record.map { ", made \(TimestampText.ago(seconds: VersionStory.seconds($0)))" } ?? ""
    return "\(place), at \(head)\(age)."
  }

  private func pendingLines(_ reply: String) -> [String] {
    let paths = reply.split(separator: "\n").filter { $0.dropFirst().first == " " }
    let (unsaved, beside) = (pending?.unsaved ?? [], pending?.beside ?? [])
    guard !paths.isEmpty || !unsaved.isEmpty || !beside.isEmpty else {
      return ["Everything is in a version."]
    }
    let due = pending?.dueMilliseconds
    let when = due.map { " (the next comes in \(($0 + 999) / 1000) s)" } ?? ""
    var lines: [String] = []
    if !paths.isEmpty {
      lines.append("Not in a version yet\(when); \"llvs diff\" shows the differences:")
      lines += Self.shortened(Self.folded(paths).joined(separator: "\n"))
    }
    if !beside.isEmpty {
      lines.append(
        "Saved in files that a merge replaced\(when); the next version merges them:")
      lines += Self.shortened(beside.joined(separator: "\n"))
    }
    if !unsaved.isEmpty {
      lines.append("Still being written, and in no version before it is saved:")
      lines += Self.shortened(unsaved.sorted().joined(separator: "\n"))
    }
    return lines
  }

  /// Omits pending names in new directories; the line of the directory has their number.
  private static func folded(_ paths: [Substring]) -> [String] {
    var folded: [String] = []
    var open: (line: Substring, count: Int)?
    func close() {
      guard let open else { return }
      folded.append(open.line + (open.count > 0 ? "  (\(open.count) new)" : ""))
    }
    // In the order of bytes, names in a directory do not always follow it directly.
    for path in paths.sorted(by: {
      $0.dropFirst(2).utf8.lexicographicallyPrecedes($1.dropFirst(2).utf8)
    }) {
      if let directory = open?.line, path.hasPrefix(directory) {
        open?.count += path.hasSuffix("/") ? 0 : 1
        continue
      }
      close()
      open = nil
      if path.hasPrefix("+"), path.hasSuffix("/") {
        open = (path, 0)
      } else {
        folded.append(String(path))
      }
    }
    close()
    return folded
  }

  private static func lines(of compaction: Compaction) -> [String] {
    var parts: [String] = []
    if let ran = ago(compaction.ran), let versions = compaction.versions {
      let freed = ByteCount.text(compaction.freedBytes ?? 0)
      parts.append(
        versions == 0
          ? "\(freed) of forgotten versions came free \(ran)"
          : "\(PrintableText.count(versions, "old version")) forgotten \(ran), \(freed) came free")
    }
    if let bytes = compaction.forgettableBytes, bytes > 0, let seen = ago(compaction.seen) {
      parts.append("\"llvs compact\" would free \(ByteCount.text(bytes)) (found \(seen))")
    }
    if let doubt = ago(compaction.clockDoubt) {
      parts.append("the clock went back or leapt \(doubt), so nothing is forgotten for a day")
    }
    guard let first = parts.first else { return [] }
    let text = ([first.prefix(1).uppercased() + first.dropFirst()] + parts.dropFirst()).joined(
      separator: "; ")
    return ["\(text)."]
  }

  private static func text(of peer: Peer) -> String {
    var parts: [String] = []
    if peer.direction != "both" { parts.append(peer.direction) }
    if let failed = ago(peer.failed) { parts.append("failed \(failed): \(peer.message)") }
    if let incomplete = peer.incomplete {
      parts.append("INCOMPLETE there: \(incomplete)")
    } else if peer.refused > 0 {
      parts.append("\(peer.refused) refused: \(peer.refusal)")
    }
    if peer.toSend > 0, peer.failed == nil || !peer.message.hasSuffix(ControlService.unsent) {
      parts.append("\(PrintableText.count(peer.toSend, "version")) to send")
    }
    let isUpToDate =
      peer.failed == nil && peer.refused == 0 && peer.incomplete == nil && peer.toSend == 0
      && !peer.notes.contains { $0.hasPrefix("INCOMPLETE") }
    let last = ago(peer.lastOK)
    parts.append(
      last.map { isUpToDate ? "up to date (checked \($0))" : "last synced \($0)" }
        ?? "never synced")
    return (parts + peer.notes).joined(separator: "; ")
  }

  private static func shortened(_ text: String) -> [String] {
    let lines = text.split(separator: "\n")
    let shown = lines.prefix(pathsShown).map { "  \($0)" }
    return lines.count > pathsShown ? shown + ["  ... and \(lines.count - pathsShown) more"] : shown
  }
}
