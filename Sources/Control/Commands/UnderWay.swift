import Platform

struct UnderWay {
  private var count = 0
  private var commands: [Int: (title: String, progress: CommandProgress)] = [:]

  mutating func begin(_ title: String) -> Int {
    count += 1
    commands[count] = (title, CommandProgress("", done: 0, total: 0))
    return count
  }

  mutating func note(_ progress: CommandProgress, of number: Int) {
    commands[number]?.progress = progress
  }

  mutating func end(_ number: Int) { commands[number] = nil }

  var all: [(title: String, progress: CommandProgress)] {
    commands.sorted { $0.key < $1.key }.map(\.value)
  }
}

extension ControlService {
  /// Runs a command that the status shows, with its progress.
  func shown(
    _ command: any Command, _ context: CommandContext,
    _ body: (CommandContext) throws -> CommandResult
  ) throws -> CommandResult {
    guard command.effect != .query else { return try body(context) }
    let number = underWay.withLock { $0.begin(command.title) }
    defer { underWay.withLock { $0.end(number) } }
    var context = context
    context.progress = { [underWay, progress = context.progress] now in
      underWay.withLock { $0.note(now, of: number) }
      progress(now)
    }
    return try body(context)
  }
}
