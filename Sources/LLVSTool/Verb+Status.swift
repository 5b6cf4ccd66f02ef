import Control
import Foundation
import Grammar
import LLVSCore
import Platform
import Reports

extension Verb {
  /// Shows the status in words, or the fields of `status.json` with --json.
  @Sendable static func status(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(0...0)
    let site = try CommandTarget(line)
    let json: String
    let ask: ([String]) throws -> String
    switch site {
    case .mounted(let tree, _):
      json = try CommandTarget.status(of: tree.root)
      ask = { try site.run($0, console).text }
    case .store:
      let service = try ControlService.open(try site.writer())
      json = try service.status().json
      ask = { words in
        try service.run(try ControlCommand(words: words.map { Array($0.utf8) })).text
      }
    }
    guard !line.isJSON else {
      console.tell(json)
      return .done
    }
    let text = try StatusText(json: json)
    let store = try site.reader()
    for line in try text.lines(store: store, ask: ask) { console.tell(line) }
    return .done
  }
}

extension CommandTarget {
  /// Returns the JSON status of a mounted store.
  static func status(of root: String) throws -> String {
    String(
      decoding: try FileSystem.read("\(root)/.llvs/status.json", atMost: 64 << 20), as: UTF8.self)
  }
}

/// The status of a store in sentences.
struct StatusText {
  private static let pathsShown = 10
  private let fields: [String: Any]

  init(json: String) throws {
    guard let fields = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    else { throw ControlError(.damaged, "the status cannot be read") }
    self.fields = fields
  }

  /// True if files are being written that no version can have before they are saved.
  var hasUnsaved: Bool {
    let pending = fields["pending"] as? [String: Any]
    return !(pending?["unsaved"] as? [String] ?? []).isEmpty
  }

  private func number(_ name: String) -> Int { fields[name] as? Int ?? 0 }

  private static func some(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// Returns the lines to print; `ask` runs a command and returns its reply.
  func lines(store: Store, ask: ([String]) throws -> String) throws -> [String] {
    var lines = try head(store)
    lines += try pending(ask)
    if number("toMerge") > 0 {
      let others = Self.some(number("toMerge"), "other head")
      lines.append("\(others) to merge with \"llvs merge\".")
    }
    if number("conflicts") > 0 {
      lines.append(
        "\(Self.some(number("conflicts"), "conflict")) open; \"llvs help settle\" says what to do:")
      lines += Self.shortened(try ask(["conflicts"]))
    }
    lines += running()
    lines += peers()
    if let fault = fields["storeFault"] as? String {
      lines.append("Nothing is stored any more: \(fault).")
    }
    if fields["belowReserve"] as? Bool ?? false {
      lines.append("Little space is free, so no versions are made by themselves.")
    }
    if let last = fields["last"] as? String, case .failed(let message) = ControlReply(last) {
      let time = (fields["lastTime"] as? String).flatMap { TimestampText.seconds(iso: $0) }
        .map { TimestampText.ago(seconds: $0) }
      lines.append("The last error\(time.map { " was \($0)" } ?? ""): \(message).")
    }
    return lines
  }

  private func head(_ store: Store) throws -> [String] {
    let line = fields["line"] as? String ?? VersionRecord.unnamedLine
    let place = line == VersionRecord.unnamedLine ? "On the unnamed line" : "On branch \(line)"
    guard let name = fields["head"] as? String else {
      return [line == VersionRecord.unnamedLine ? "No version yet." : "\(place), no version yet."]
    }
    let record = try store.version(named: name)
    let age = record.map { ", made \(TimestampText.ago(seconds: VersionStory.seconds($0)))" } ?? ""
    return ["\(place), at \(name)\(age)."]
  }

  private func pending(_ ask: ([String]) throws -> String) throws -> [String] {
    let reply = try ask(["pending"])
    let paths = reply.split(separator: "\n").filter { $0.dropFirst().first == " " }
    let pending = fields["pending"] as? [String: Any] ?? [:]
    let unsaved = pending["unsaved"] as? [String] ?? []
    let beside = pending["beside"] as? [String] ?? []
    guard !paths.isEmpty || !unsaved.isEmpty || !beside.isEmpty else {
      return ["Everything is in a version."]
    }
    var when = ""
    if let due = pending["dueMilliseconds"] as? Int {
      when = " (the next comes in \((due + 999) / 1000) s)"
    }
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

  /// Leaves out pending names in new directories; the line of the directory has their number.
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

  /// The commands that run, and how far they are.
  private func running() -> [String] {
    (fields["running"] as? [[String: Any]] ?? []).map { command in
      let (title, what) = (command["command"] as? String ?? "?", command["what"] as? String ?? "")
      let (done, total) = (command["done"] as? Int ?? 0, command["total"] as? Int ?? 0)
      let steps = total > 0 ? ", \(done) of \(total)" : ""
      return "Now running: \(title)\(what.isEmpty ? "" : ": \(what)\(steps)")."
    }
  }

  private func peers() -> [String] {
    let peers = fields["peers"] as? [[String: Any]] ?? []
    guard !peers.isEmpty else { return ["No peers: \"llvs peer NAME ADDRESS\" adds one."] }
    return ["Peers:"]
      + peers.map { peer in
        var parts: [String] = []
        func time(_ name: String) -> Int64? {
          (peer[name] as? String).flatMap { TimestampText.seconds(iso: $0) }
        }
        if let direction = peer["direction"] as? String, direction != "both" {
          parts.append(direction)
        }
        if let failed = time("failed") {
          parts.append(
            "failed \(TimestampText.ago(seconds: failed)): \(peer["message"] as? String ?? "")")
          let last = time("lastOK").map { TimestampText.ago(seconds: $0) }
          parts.append("last successful sync: \(last ?? "never")")
        } else if let ok = time("lastOK") {
          let isWhole = peer["refused"] as? Int ?? 0 == 0
          parts.append(
            "\(isWhole ? "in sync" : "exchanged with") \(TimestampText.ago(seconds: ok))")
        } else {
          parts.append("never exchanged with")
        }
        if let count = peer["refused"] as? Int, count > 0 {
          parts.append("\(count) refused: \(peer["refusal"] as? String ?? "")")
        }
        if let count = peer["waiting"] as? Int, count > 0 {
          parts.append("\(Self.some(count, "version")) of which only a part is there yet")
        }
        if let count = peer["toSend"] as? Int, count > 0 {
          parts.append("\(Self.some(count, "version")) to send")
        }
        parts += peer["notes"] as? [String] ?? []
        return "  \(peer["name"] as? String ?? "?"): \(parts.joined(separator: "; "))"
      }
  }

  private static func shortened(_ text: String) -> [String] {
    let lines = text.split(separator: "\n")
    let shown = lines.prefix(pathsShown).map { "  \($0)" }
    return lines.count > pathsShown ? shown + ["  ... and \(lines.count - pathsShown) more"] : shown
  }
}
