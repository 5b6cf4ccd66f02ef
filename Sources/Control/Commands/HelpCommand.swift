import Events
import Grammar

struct HelpCommand: Command {
  static let forms = [CommandForm("help")]
  var effect: CommandEffect { .query }

  func run(in service: ControlService, _ context: CommandContext) -> CommandResult {
    let lines = Commands.forms.filter { $0.name != "revert" }.map(\.usage) + ["json COMMAND"]
    return CommandResult(lines.joined(separator: "\n"), ["usage": lines])
  }
}

extension HelpCommand {
  init(_ arguments: inout Arguments) {}
}

/// Shows the last lines of the log.
struct LogCommand: Command {
  static let forms = [CommandForm("log", "[COUNT]")]
  var count = 10
  var effect: CommandEffect { .query }

  func run(in service: ControlService, _ context: CommandContext) -> CommandResult {
    let lines = service.log.lastLines(count)
    return CommandResult(lines.joined(separator: "\n"), ["lines": lines])
  }
}

extension LogCommand {
  init(_ arguments: inout Arguments) throws(ControlError) {
    guard let text = try arguments.textIfAny() else { return }
    guard let count = Int(text), count > 0 else {
      throw arguments.misused("\"\(text)\" is not a count")
    }
    self.count = count
  }
}
