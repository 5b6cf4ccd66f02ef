import Control
import Grammar
import LLVSCore
import Platform
import TreeNames
import WorkingTree

extension Verb {
  @Sendable static func control(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let site = try CommandTarget(line)
    if line.verb == "commit" { try confirmMessage(line, site, console) }
    var words = [Array(line.verb.utf8)] + (try site.commandWords(line))
    // These options are words of the command, before all others.
    for option in ["all", "delete", "rename", "check", "repair", "whole"] where line.has(option) {
      words.insert(Array("--\(option)".utf8), at: 1)
    }
    if line.verb == "commit", let message = line.options["message"] {
      words.append(Array(message.utf8))
    }
    // Without a name these list names; then --force is for the store only.
    if line.verb == "tag" || line.verb == "branch" && line.has("delete"),
      line.has("f") || line.has("force") && !line.words.isEmpty, !line.has("rename")
    {
      words.append(Array("--force".utf8))
    }
    let answer = try site.run(bytes: words, console)
    console.tell(answer, line)
    if line.failsOnConflict, case .list(let paths)? = answer.reply["conflicts"], !paths.isEmpty {
      return .conflict
    }
    return .done
  }

  /// Asks before words that name files become a message, because in other programs they are files.
  /// - Throws: ``UsageError`` if the answer is no, or no terminal is available.
  private static func confirmMessage(
    _ line: CommandLine, _ site: CommandTarget, _ console: Console
  ) throws {
    guard !line.words.isEmpty, !line.has("message"), try site.areFiles(line.bytes) else { return }
    let text = line.words.joined(separator: " ")
    let shown = PrintableText.text(Array(text.utf8))
    let reason =
      "\(shown) \(line.words.count == 1 ? "is a file" : "are files"); commit makes a version of everything "
      + "that is saved, and takes a message"
    if StandardStream.input.isTerminal, StandardStream.error.isTerminal, !line.isJSON {
      console.ask("llvs: \(reason).\nMake the version, with the message \"\(shown)\"? [y/N] ")
      let answer = StandardStream.input.readLine()?.lowercased() ?? ""
      if ["y", "yes"].contains(answer.trimmingPrefix { $0 == " " }) { return }
      throw UsageError("no version is made")
    }
    throw UsageError("\(reason): llvs commit -m '\(shown)'")
  }

  private static func treeFaults(
    of store: Store, _ site: CommandTarget, _ console: Console
  ) throws -> [String] {
    guard case .mounted(let tree, _) = site else { return try TreeSession.faults(ofTreeIn: store) }
    do {
      guard case .list(let faults)? = try site.run(["verify", "--tree"], console).reply["damage"]
      else { return [] }
      return faults.compactMap { if case .text(let fault) = $0 { fault } else { nil } }
    } catch let error as SystemError where error.errno == Errno.readOnlyFileSystem {
      console.complain(
        "llvs: \(tree.root) is mounted read-only: its working tree is checked once the store is unmounted."
      )
      return []
    }
  }

  /// Checks the store directly; the daemon checks the working tree of a mounted store, a command checks a peer.
  @Sendable static func verify(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    if !line.words.isEmpty { return try control(line, console) }
    let site = try CommandTarget(line)
    let store = try site.reader()
    let report = try store.verify { done, total in
      console.progress(CommandProgress("verifying", bytes: done, of: total))
      return true
    }
    var damages = try report.damage + TreeSession.faults(ofJournalIn: store)
    damages += try treeFaults(of: store, site, console)
    if line.isJSON {
      console.tell(json: [
        "ok": damages.isEmpty, "versions": report.versions, "entries": report.entries,
        "bytes": report.bytes, "damage": damages,
      ])
    }
    for damage in damages { console.complain("llvs: \(damage).") }
    guard damages.isEmpty else { return .damaged }
    if !line.isJSON {
      console.say(
        "no damage found: \(PrintableText.count(report.versions, "version")), "
          + "\(PrintableText.entries(report.entries)), " + ByteCount.text(report.bytes))
    }
    return .done
  }
}

extension CommandTarget {
  /// Returns the words of a command with paths in the control file's form: from the root of the tree.
  fileprivate func commandWords(_ line: CommandLine) throws -> [[UInt8]] {
    let form = Commands.forms.first { $0.name == line.verb }
    let paths = line.has("check") ? 0..<Int.max : line.has("all") ? 0..<0 : form?.paths ?? 0..<0
    return try line.bytes.enumerated().map { index, word in
      if paths.contains(index) {
        // The root is a slash.
        let path = try path(word)
        return path.isEmpty ? [0x2F] : path
      }
      return line.verb == "commit" ? word : Self.withoutZone(word)
    }
  }

  /// Writes the time of `at/TIME` in seconds, because the daemon may be in another zone than the caller.
  private static func withoutZone(_ word: [UInt8]) -> [UInt8] {
    let text = String(decoding: word, as: UTF8.self)
    guard text.hasPrefix("at/") else { return word }
    let time = text.dropFirst(3).prefix { $0 != "~" && $0 != "^" }
    guard let instant = TimeExpression(now: TimestampText.now()).instant(String(time)) else {
      return word
    }
    let steps = text.dropFirst(3 + time.count)
    return Array("at/@\(instant / 1_000_000_000)\(steps)".utf8)
  }

  fileprivate func areFiles(_ words: [[UInt8]]) throws -> Bool {
    let store = try reader()
    let head = try store.headRecord()
    let view = head.map { TreeView(map: store.map(of: $0)) }
    return try words.allSatisfy { word in
      guard let path = try? path(word), !path.isEmpty else { return false }
      if try view?.find(path: path) != nil { return true }
      guard case .mounted(let tree, _) = self, tree.below(path) != nil else { return false }
      return (try? FileSystem.exists(tree.place(path))) ?? false
    }
  }
}
