import Grammar
import Platform

/// The commands that run now, and the progress of each.
struct UnderWay {
  private var count = 0
  private var commands: [Int: (title: String, progress: CommandProgress)] = [:]

  /// Adds a command, and returns its number.
  mutating func begin(_ title: String) -> Int {
    count += 1
    commands[count] = (title, CommandProgress("", done: 0, total: 0))
    return count
  }

  mutating func note(_ progress: CommandProgress, of number: Int) {
    commands[number]?.progress = progress
  }

  mutating func end(_ number: Int) { commands[number] = nil }

  /// The commands, the oldest first.
  var all: [(title: String, progress: CommandProgress)] {
    commands.sorted { $0.key < $1.key }.map(\.value)
  }
}

extension ControlService {
  /// Runs a command that the status shows in the meantime, with its progress.
  func shown(
    _ command: ControlCommand, _ context: CommandContext,
    _ body: (CommandContext) throws(ControlError) -> CommandResult
  ) throws(ControlError) -> CommandResult {
    guard !command.isQuery else { return try body(context) }
    let number = underWay.withLock { $0.begin(command.title) }
    defer { underWay.withLock { $0.end(number) } }
    var context = context
    context.progress = { [underWay, progress = context.progress] now in
      underWay.withLock { $0.note(now, of: number) }
      progress(now)
    }
    return try body(context)
  }

  func describeUnderWay(_ lines: inout [(String, String)], _ fields: inout [ReplyField]) {
    let all = underWay.withLock { $0.all }
    for (title, now) in all {
      let steps = now.total > 0 ? " \(now.done) of \(now.total)" : ""
      lines.append(("running", now.what.isEmpty ? title : "\(title): \(now.what)\(steps)"))
    }
    fields.append(
      ReplyField(
        "running",
        .list(
          all.map { title, now in
            .record([
              ReplyField("command", title), ReplyField("what", now.what),
              ReplyField("done", now.done), ReplyField("total", now.total),
            ])
          })))
  }
}
