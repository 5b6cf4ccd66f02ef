package import Grammar

package protocol Command: Hashable, Sendable {
  /// The ways to write the command, one for each of its names.
  static var forms: [CommandForm] { get }
  init(_ arguments: inout Arguments) throws(ControlError)
  /// The command as a user would write it, shortened, for the log and for errors.
  var title: String { get }
  var effect: CommandEffect { get }
  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult
}

extension Command {
  package var effect: CommandEffect { .version }
  package var title: String { Self.forms[0].name }
}

/// The part of a store that a command changes.
package enum CommandEffect: Sendable {
  /// No progress: the status continues to show the previous command.
  case query
  /// Changes something other than versions.
  case change
  /// Changes versions too, so it waits while another handle holds.
  case version
}

/// A spelling of a command, also as a verb of the tool.
package struct CommandForm: Sendable {
  package let name: String
  package let usage: String
  /// The help of the verb; empty if the tool has no such verb, or implements it without the command.
  package let help: String
  package let options: [VerbOption]
  package let operands: VerbOption.Completion
  /// The indices of the words that are paths, for a verb.
  package let paths: Range<Int>

  init(
    _ name: String, _ words: String = "", paths: Range<Int> = 0..<0,
    _ operands: VerbOption.Completion = .nothing, options: [VerbOption] = [], help: String = ""
  ) {
    self.name = name
    usage = words.isEmpty ? name : "\(name) \(words)"
    self.help = help
    self.options = options
    self.operands = operands
    self.paths = paths
  }
}

package enum Commands {
  private static let all: [any Command.Type] = [
    CommitCommand.self, HoldCommand.self, ExchangeCommand.self, MergeCommand.self,
    SyncCommand.self, ImportCommand.self, RestoreCommand.self, UndoCommand.self,
    BranchCommand.self, SwitchCommand.self, TagCommand.self, SettleCommand.self,
    ConflictsCommand.self, SetCommand.self, KeepCommand.self, CompactCommand.self,
    IgnoreCommand.self, UntrackCommand.self,
    TrackCommand.self, VerifyCommand.self, PeerCommand.self, AdoptCommand.self, KeyCommand.self,
    StatusCommand.self,
    PendingCommand.self, LogCommand.self, HelpCommand.self,
  ]

  /// The ways to write commands, in the order of the control file's help.
  package static let forms = all.flatMap { $0.forms }

  /// Reads the words of a line; the first is the command's name.
  package static func parse(_ words: [[UInt8]]) throws(ControlError) -> any Command {
    guard let first = words.first else { throw ControlError(.grammar, "no command") }
    let name = String(decoding: first, as: UTF8.self)
    for type in all {
      guard let form = type.forms.first(where: { $0.name == name }) else { continue }
      var arguments = Arguments(form, words.dropFirst())
      let command = try type.init(&arguments)
      try arguments.end()
      return command
    }
    throw ControlError(.grammar, "no command \"\(name)\"; help lists them")
  }
}
