import Grammar
import HistoryTree
import LLVSCore
import WorkingTree

/// Makes a version of all saved changes.
struct CommitCommand: Command {
  static let forms = [
    CommandForm(
      "commit", "[MESSAGE]", options: [.message],
      help: """
        Makes a version of everything that is saved, now.
        The words are its message. A single word that is a file is not taken without asking, since other programs
        take files there: -m takes it.
        """)
  ]

  let message: String?

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    let commit = Commit(try service.cut(message: message), in: service.store)
    if let handle = context.handle { service.holds.end(of: handle) }
    return CommandResult((commit.made ?? "nothing to commit") + commit.notes, commit.reply)
  }
}

extension CommitCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    let words = try arguments.remainingTexts()
    message = words.isEmpty ? nil : words.joined(separator: " ")
  }
}

extension VerbOption {
  package static let message = VerbOption(
    "m", "message", value: "TEXT", help: "the message of the version")
}

extension CutOutcome {
  /// The name of the version and its changes; nil if there were none.
  func made(in store: Store) -> String? {
    guard let cut else { return nil }
    let canRename = summary.new > 0 && summary.removed > 0
    let text = summary.text
    return "\(cut.name) \(canRename ? ChangeSummary.text(of: cut, in: store, or: text) : text)"
  }
}

struct Commit {
  let made: String?
  /// Clauses about changes that are in no version.
  let notes: String
  let reply: ReplyValue

  init(_ outcome: CutOutcome, in store: Store) {
    made = outcome.made(in: store)
    let unsaved = outcome.allUnsaved
    var notes = ""
    if !unsaved.isEmpty { notes += "; not saved yet: \(ControlService.names(unsaved))" }
    if !outcome.damagedPaths.isEmpty {
      notes += "; damaged, in no version: \(ControlService.names(outcome.damagedPaths))"
    }
    if !outcome.withoutBase.isEmpty {
      notes +=
        "; old bytes are forgotten, in no version: \(ControlService.names(outcome.withoutBasePaths))"
    }
    self.notes = notes
    var reply: ReplyValue = [
      "version": outcome.cut?.name, "changed": outcome.summary.changed, "new": outcome.summary.new,
      "removed": outcome.summary.removed, "unsaved": unsaved, "damaged": outcome.damagedPaths,
    ]
    if !outcome.withoutBase.isEmpty { reply += ["forgotten": outcome.withoutBasePaths] }
    self.reply = reply
  }
}
