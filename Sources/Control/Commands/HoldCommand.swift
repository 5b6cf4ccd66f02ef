import Grammar

/// Makes a version of saved changes, then holds later ones until the handle commits, closes or times out.
struct HoldCommand: Command {
  static let forms = [CommandForm("hold", "[TIME]")]
  let nanoseconds: UInt64

  func run(in service: ControlService, _ context: CommandContext) throws -> CommandResult {
    guard let handle = context.handle else {
      throw ControlError(.grammar, "hold needs an open control file, which is closed at its end")
    }
    // Others wait from here on, so that the version has none of the holder's next changes.
    while !service.holds.begin(handle, nanoseconds: nanoseconds) {
      try service.holds.waitToBegin(handle, context.isCancelled)
    }
    do {
      try service.cut()
    } catch {
      service.holds.end(of: handle)
      throw error
    }
    return CommandResult(
      "held for \(Measure.text(duration: nanoseconds)); commit or close ends it",
      ["milliseconds": nanoseconds / 1_000_000])
  }

  /// A time up to ten minutes; default: one minute.
  init(_ arguments: inout Arguments) throws(ControlError) {
    guard let text = try arguments.textIfAny() else {
      nanoseconds = 60_000_000_000
      return
    }
    guard let time = Measure.duration(text), time > 0, time <= 600_000_000_000 else {
      throw arguments.misused("\"\(text)\" is not a time up to 10m, such as 30s")
    }
    nanoseconds = time
  }
}
