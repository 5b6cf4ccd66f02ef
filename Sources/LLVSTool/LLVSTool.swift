import Grammar
import Platform

/// The command-line tool: parses a command line, runs it and reports the result.
package enum LLVSTool {
  package static func run(_ arguments: [[UInt8]]) -> Int32 {
    StandardStream.openClosed()
    var console = Console(isQuiet: false)
    let code = carryOut(arguments, &console)
    do throws(SystemError) {
      try console.finish()
    } catch {
      let failure = Failure(ofOutput: error)
      console.complain(failure.sentence)
      return code == ExitCode.done.rawValue ? failure.code.rawValue : code
    }
    return code
  }

  private static func carryOut(_ arguments: [[UInt8]], _ console: inout Console) -> Int32 {
    do {
      let line = try CommandLine(bytes: arguments)
      console = Console(isQuiet: line.isQuiet)
      guard !line.has("version") else {
        Release.tell(line, console)
        return ExitCode.done.rawValue
      }
      guard !line.verb.isEmpty else {
        guard line.wantsHelp else { throw UsageError("no verb is given; \"llvs help\" lists them") }
        console.tell(Verb.overview)
        return ExitCode.done.rawValue
      }
      guard let verb = Verb.named(line.verb) else { throw Verb.missing(line.verb) }
      if line.wantsHelp {
        console.tell(verb.description)
        return ExitCode.done.rawValue
      }
      let code: ExitCode
      do {
        code = try verb.run(line, console)
      } catch let access as GuestAccess {
        code = try GuestView(access, console).run(line)
      }
      ConflictNotice.tell(line, console)
      return code.rawValue
    } catch {
      let failure = Failure(error)
      console.clear()
      if arguments.contains(where: { $0.elementsEqual("--json".utf8) }) {
        console.tell(json: failure.reply)
      } else {
        if let done = failure.done { console.say(done.text) }
        console.complain(failure.sentence)
      }
      if failure.code == .interrupted { console.endByInterrupt() }
      return failure.code.rawValue
    }
  }
}
