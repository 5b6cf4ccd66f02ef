import Control
import Platform
import TreeNames

/// What the user sees: results on standard output, errors and progress on standard error.
final class Console: Sendable {
  private let isQuiet: Bool
  private let showsProgress: Bool
  /// When the bar was last drawn, on the monotonic clock; 0 while there is none.
  private let bar = Monitor<UInt64>(0)
  private let output = Output()
  /// Whether people look at standard output; asked before a pager takes its place.
  let isTerminal: Bool
  /// How wide a line can be.
  let columns: Int

  init(isQuiet: Bool) {
    self.isQuiet = isQuiet
    showsProgress = !isQuiet && StandardStream.error.isTerminal
    isTerminal = StandardStream.output.isTerminal
    let told = SystemProcess.environment("COLUMNS").flatMap { Int($0) }
    columns = min(max(told ?? StandardStream.output.columns ?? 80, 40), 1000)
  }

  /// The colours that a command line asks for.
  ///
  /// - Throws: ``UsageError`` for what is neither always, never nor auto.
  func style(_ line: CommandLine) throws -> Style {
    switch line.options["color"] ?? "auto" {
    case "always": return Style(isOn: true)
    case "never": return Style(isOn: false)
    case "auto":
      let isPlain =
        SystemProcess.environment("NO_COLOR").map { !$0.isEmpty } ?? false
        || SystemProcess.environment("TERM") == "dumb"
      return Style(isOn: isTerminal && !isPlain && !line.isJSON)
    case let other: throw UsageError("--color is always, never or auto, not \(other)")
    }
  }

  /// Shows long output through a pager where people look at it, as git does.
  func page(_ line: CommandLine) {
    guard isTerminal, !line.has("no-pager"), SystemProcess.environment("TERM") != "dumb" else {
      return
    }
    let told = SystemProcess.environment("LLVS_PAGER") ?? SystemProcess.environment("PAGER")
    let command = told ?? "less"
    guard !command.isEmpty, command != "cat" else { return }
    output.page(command)
  }

  /// Adds to a long result, which goes out in large pieces.
  func stream(_ bytes: some Sequence<UInt8>) { output.write(bytes) }

  func stream(line: String) {
    var bytes = Array(line.utf8)
    bytes.append(0x0A)
    output.write(bytes)
  }

  /// Writes what is left.
  func flush() { output.write([], now: true) }

  /// Writes what is left and waits for the pager.
  func finish() throws(SystemError) { try output.finish() }

  /// A line of a result.
  func say(_ text: String) {
    clear()
    guard !isQuiet, !text.isEmpty else { return }
    let text = PrintableText.harmless(text)
    output.write((text.hasSuffix("\n") ? text : text + "\n").utf8, now: true)
  }

  /// What was asked for, also where only it is wanted.
  func tell(_ text: String) {
    clear()
    guard !text.isEmpty else { return }
    let text = PrintableText.harmless(text)
    output.write((text.hasSuffix("\n") ? text : text + "\n").utf8, now: true)
  }

  func complain(_ text: String) {
    clear()
    StandardStream.error.write(PrintableText.harmless(text) + "\n")
  }

  /// Draws how far the work is, ten times a second at most.
  func progress(_ progress: CommandProgress) {
    guard showsProgress else { return }
    let now = SystemClock.monotonic()
    let isDue = bar.withLock { last -> Bool in
      guard last == 0 || now - last > 100_000_000 else { return false }
      last = now
      return true
    }
    guard isDue else { return }
    var text = "\(progress.what) \(progress.done)"
    if progress.total > 0 {
      let filled = min(24, progress.done * 24 / progress.total)
      text =
        "[" + String(repeating: "#", count: filled) + String(repeating: " ", count: 24 - filled)
        + "] \(progress.what) \(progress.done) of \(progress.total)"
    }
    StandardStream.error.write("\r\u{1B}[K" + text)
  }

  /// Takes the bar away.
  func clear() {
    let isDrawn = bar.withLock { last -> Bool in
      defer { last = 0 }
      return last != 0
    }
    if isDrawn { StandardStream.error.write("\r\u{1B}[K") }
  }

  var context: CommandContext {
    CommandContext(progress: { [self] in progress($0) })
  }
}
