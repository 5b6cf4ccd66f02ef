package import Control
import Grammar
import HistoryTree
import Platform
import TreeNames

/// A verb of the tool. `--help`, the manual page and the completion are all made from these.
package struct Verb: Sendable {
  package let name: String
  package let usage: String
  /// Sentences; the list of verbs contains only the first line.
  package let help: String
  /// The options of this verb alone.
  package var options: [VerbOption] = []
  package var operands = VerbOption.Completion.nothing
  let run: @Sendable (CommandLine, Console) throws -> ExitCode
  static func named(_ name: String) -> Verb? { all.first { $0.name == name } }

  /// Returns the verbs with names similar to an unknown word.
  static func nearest(to word: String) -> [String] {
    let word = Array(word.utf8.prefix(64))
    let near = all.compactMap { verb in
      SpellingDistance.between(word, Array(verb.name.utf8), atMost: max(1, word.count / 3))
        .map { (distance: $0, name: verb.name) }
    }
    return near.sorted { $0.distance < $1.distance }.prefix(3).map(\.name)
  }

  static func missing(_ name: String) -> UsageError {
    let near = nearest(to: name)
    return UsageError(
      "there is no verb \(name); "
        + (near.isEmpty
          ? "\"llvs help\" lists them" : "nearest: \(near.joined(separator: ", "))"))
  }

  @Sendable static func explain(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    if line.isJSON { return try explainInJSON(line, console) }
    guard let name = try line.operands(0...1).first else {
      console.tell(line.has("man") ? ManualPage.text : overview)
      return .done
    }
    guard let verb = named(name) else { throw missing(name) }
    console.tell(verb.description)
    return .done
  }

  private static func explainInJSON(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    let name = try line.operands(0...1).first
    if let name, named(name) == nil { throw missing(name) }
    let verbs = all.filter { name == nil || $0.name == name }
    let shown = verbs.map { verb -> ReplyValue in
      let options = verb.options.map { ["spelling": $0.spelling, "help": $0.help] as ReplyValue }
      return ["name": verb.name, "usage": verb.usage, "help": verb.help, "options": options]
    }
    console.tell(json: ["ok": true, "verbs": shown])
    return .done
  }

  package var description: String {
    var text = "\(usage)\n\n\(help)\n"
    if !options.isEmpty { text += "\n" + Self.list(options) }
    return text
  }

  private static func list(_ options: [VerbOption]) -> String {
    let width = min(options.map(\.spelling.count).max() ?? 0, 28)
    return options.map { option in
      let spelling = option.spelling
      let gap =
        spelling.count > width
        ? "\n" + String(repeating: " ", count: width + 4)
        : String(repeating: " ", count: width - spelling.count + 2)
      return "  \(spelling)\(gap)\(option.help)\n"
    }.joined()
  }

  /// The ways to give paths; part of the help and the manual page.
  package static let pathsHelp = """
    Taken from the current directory where that is in the mount, as git takes them; from the top of the
    tree elsewhere, and with a slash before them. In the control file all start at the top.
    """

  package static let summary =
    "llvs VERB [OPTIONS] mounts a versioned store as a directory and syncs copies of it."

  package static var overview: String {
    let width = all.map(\.name.count).max() ?? 0
    let lines = all.map { verb in
      let space = String(repeating: " ", count: width - verb.name.count + 2)
      return "  \(verb.name)\(space)\(verb.help.split(separator: "\n").first ?? "")"
    }
    let codes = ExitCode.allCases.map { code in
      "  \(code.rawValue < 10 ? " " : "")\(code.rawValue)  \(code.meaning)"
    }
    return """
      \(summary)

      \(lines.joined(separator: "\n"))

      Options of all verbs:
      \(list(VerbOption.common))
      Paths in the tree:
        \(pathsHelp.split(separator: "\n").joined(separator: "\n  "))

      Exit codes:
      \(codes.joined(separator: "\n"))
      """
  }

  static func importStore(
    _ format: String, _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    _ = try OriginalStores.Format(option: format)
    let directory = try line.places(1...1)[0]
    guard !line.has("into"), !line.has("message") else {
      throw UsageError("--into and --message are for files, not for a store's versions")
    }
    let site = try CommandTarget(line)
    guard case .store(let path, _) = site else {
      throw ControlError(.busy, "the store is mounted; unmount it before its versions come in")
    }
    let count = try OriginalStores.importVersions(of: directory, into: path)
    _ = try site.run(["merge"], console)
    console.say("\(PrintableText.count(count, "version")) of \(directory) came in")
    return .done
  }

  static func exportStore(
    _ format: String, _ line: CommandLine, _ console: Console
  ) throws -> ExitCode {
    let format = try OriginalStores.Format(option: format)
    let directory = try line.places(1...1)[0]
    let store = try CommandTarget(line).storePath
    let count = try OriginalStores.exportVersions(of: store, to: directory, as: format)
    console.say("\(PrintableText.count(count, "version")) added to \(directory)")
    return .done
  }

  @Sendable static func open(_ line: CommandLine, _ console: Console) throws -> ExitCode {
    _ = try line.operands(0...1)
    guard case .mounted(let tree, _) = try CommandTarget(line) else {
      throw ControlError(
        .notFound, "the store is not mounted; \"llvs mount\" shows its history as directories")
    }
    let site = try CommandTarget(line)
    let path = try site.path(line.bytes.first ?? Array(".".utf8))
    let place = try historyPlace(of: path, in: tree)
    let shown = FileSystem.text(place)
    if line.isJSON || line.has("print") {
      console.tell(line, shown, json: ["ok": true, "path": ReplyBytes(place)])
      return .done
    }
    let known = [["xdg-open"], ["gio", "open"], ["exo-open"]]
    guard let opener = known.first(where: { SystemProcess.isInstalled($0[0]) }) else {
      throw ControlError(
        .unsupported, "no program to open directories is installed (xdg-open); it is \(shown)")
    }
    let code = try ChildProcess.run(bytes: opener.map { Array($0.utf8) } + [place])
    guard code == 0 else {
      throw ControlError(.busy, "\(opener[0]) ended with \(code); the history is \(shown)")
    }
    return .done
  }

  private static func historyPlace(of path: [UInt8], in tree: MountView) throws -> [UInt8] {
    let place = try tree.place(path)
    let versions = Array("/.llvs/versions".utf8)
    let root = Array(tree.root.utf8)
    guard !path.isEmpty, let below = tree.below(path), !below.isEmpty else {
      return root + versions
    }
    if try FileSystem.exists(place), try FileSystem.status(place).kind == .directory {
      return place + versions
    }
    let history = root + Array("/.llvs/history/".utf8) + below
    guard try FileSystem.exists(history) else {
      throw ControlError(.notFound, "no version has a file \(PrintableText.text(path))")
    }
    return history
  }
}
