import LLVSCore
import Platform

/// Reports open conflicts after a verb: on a terminal only, and once until others appear.
enum ConflictNotice {
  /// Verbs that read a store or change it, and do not report its conflicts themselves.
  private static let verbs: Set<String> = [
    "commit", "sync", "retrieve", "send", "exchange", "merge", "restore", "revert", "undo", "redo",
    "branch", "switch", "tag", "log", "diff", "show", "history", "import", "peer",
  ]

  /// Reports on standard error, except with --quiet and output for programs.
  static func tell(_ line: CommandLine, _ console: Console) {
    guard verbs.contains(line.verb), !line.isJSON, !line.isQuiet, StandardStream.error.isTerminal,
      let open = open(line)
    else { return }
    guard NoticeMemory(of: open.store).takes(open.text), open.count > 0 else { return }
    let (verb, them) = open.count == 1 ? ("is", "it") : ("s are", "them")
    console.complain(
      "llvs: \(open.count) conflict\(open.count == 1 ? " " : "")\(verb) open; \"llvs conflicts\" shows whose, "
        + "\"llvs help settle\" how to close \(them).")
  }

  private struct Open {
    var store: String
    var count: Int
    var text: String
  }

  /// Returns the open conflicts; nil if they are unknown, which is no failure of the command.
  private static func open(_ line: CommandLine) -> Open? {
    guard let target = try? CommandTarget(line), let store = try? target.reader(),
      let head = try? store.state().head, let keys = try? store.openConflictKeys(at: head)
    else { return nil }
    let names = keys.map { $0.bytes.hex }.sorted()
    return Open(store: store.path, count: keys.count, text: names.joined(separator: "\n"))
  }
}

/// The conflicts last shown to a user, in `$XDG_STATE_HOME/llvs` or `~/.local/state/llvs`.
private struct NoticeMemory {
  private let directory: String?
  private let file: String

  init(of store: String) {
    let state =
      SystemProcess.environment("XDG_STATE_HOME")
      ?? SystemProcess.environment("HOME").map { "\($0)/.local/state" }
    directory = state.flatMap { $0.hasPrefix("/") ? "\($0)/llvs" : nil }
    file = "conflicts-" + Digest.of(Array(store.utf8)).hex.prefix(16)
  }

  /// True if this was not the last report, or if that is unknown; remembers it.
  func takes(_ text: String) -> Bool {
    guard let directory else { return true }
    let digest = Array((Digest.of(Array(text.utf8)).hex + "\n").utf8)
    let known = try? FileSystem.read("\(directory)/\(file)", atMost: 128)
    guard known != digest, known != nil || !text.isEmpty else { return false }
    var made = ""
    for part in directory.split(separator: "/") {
      made += "/\(part)"
      try? FileSystem.makeDirectory(made, permissions: 0o700)
    }
    try? FileSystem.replace("\(directory)/\(file)", with: digest)
    return true
  }
}
