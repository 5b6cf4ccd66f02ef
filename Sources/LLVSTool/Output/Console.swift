import Control
import Grammar
import HistoryTree
import ObjectStores
import Platform
import Reports
import TreeNames

/// The tool's output: results on standard output, errors and progress on standard error.
final class Console: Sendable {
  private let isQuiet: Bool
  /// True if standard error is visible to a person.
  let showsProgress: Bool
  /// The time when the bar was last drawn, on the monotonic clock; 0 if there is none.
  private let bar = Monitor<UInt64>(0)
  /// A leaf lock.
  private let newest = Monitor<CommandProgress?>(nil)
  /// When each step in bytes began, and with how many.
  private let paces = Monitor<[String: (time: UInt64, done: Int)]>([:])
  private let output = Output()
  /// True if standard output is a terminal; determined before a pager replaces it.
  let isTerminal: Bool
  let columns: Int

  init(isQuiet: Bool) {
    self.isQuiet = isQuiet
    showsProgress = !isQuiet && StandardStream.error.isTerminal
    isTerminal = StandardStream.output.isTerminal
    let given = SystemProcess.environment("COLUMNS").flatMap { Int($0) }
    columns = min(max(given ?? StandardStream.output.columns ?? 80, 40), 1000)
  }

  /// Returns the colours that a command line requests.
  /// - Throws: ``UsageError`` unless the option is always, never or auto.
  func style(_ line: CommandLine) throws -> TextStyle {
    switch line.options["color"] ?? "auto" {
    case "always": return TextStyle(isOn: true)
    case "never": return TextStyle(isOn: false)
    case "auto":
      let isPlain =
        SystemProcess.environment("NO_COLOR").map { !$0.isEmpty } ?? false
        || SystemProcess.environment("TERM") == "dumb"
      return TextStyle(isOn: isTerminal && !isPlain && !line.isJSON)
    case let other: throw UsageError("--color is always, never or auto, not \(other)")
    }
  }

  func page(_ line: CommandLine) {
    guard isTerminal, !line.has("no-pager"), SystemProcess.environment("TERM") != "dumb" else {
      return
    }
    let given = SystemProcess.environment("LLVS_PAGER") ?? SystemProcess.environment("PAGER")
    let command = given ?? "less"
    guard !command.isEmpty, command != "cat" else { return }
    output.page(command)
  }

  /// Appends to a long result, written in large pieces.
  func stream(_ bytes: some Sequence<UInt8>) { output.write(bytes) }

  func stream(line: String) {
    var bytes = Array(line.utf8)
    bytes.append(0x0A)
    output.write(bytes)
  }

  func stream(json reply: ReplyValue) { stream(line: reply.json) }
  func flush() { output.write([], now: true) }
  func finish() throws(SystemError) { try output.finish() }

  func say(_ text: String) {
    clear()
    guard !isQuiet, !text.isEmpty else { return }
    let text = PrintableText.harmless(text)
    output.write((text.hasSuffix("\n") ? text : text + "\n").utf8, now: true)
  }

  /// Prints a result: text for people, or JSON for programs.
  func tell(
    _ line: CommandLine, _ text: @autoclosure () -> String, json: @autoclosure () -> ReplyValue
  ) { if line.isJSON { tell(json: json()) } else { tell(text()) } }

  /// Prints the reply of a verb: a sentence for people, or fields for programs.
  func reply(_ line: CommandLine, _ text: String, _ reply: ReplyValue) {
    if line.isJSON { tell(json: ["ok": true] + reply + ["text": text]) } else { say(text) }
  }

  func tell(json reply: ReplyValue) { tell(reply.json) }

  /// Prints requested text; also with --quiet.
  func tell(_ text: String) {
    clear()
    guard !text.isEmpty else { return }
    let text = PrintableText.harmless(text)
    output.write((text.hasSuffix("\n") ? text : text + "\n").utf8, now: true)
  }

  /// Writes a question; the answer is typed on the same line.
  func ask(_ text: String) {
    clear()
    flush()
    StandardStream.error.write(PrintableText.harmless(text))
  }

  func complain(_ text: String) {
    clear()
    StandardStream.error.write(PrintableText.harmless(text) + "\n")
  }

  /// Names the files that a verb passed over, after everything that it wrote.
  func complain(about missing: MissingBytes) {
    guard missing.count > 0 else { return }
    flush()
    for clause in missing.clauses { complain("llvs: \(clause).") }
  }

  func progress(_ progress: CommandProgress) {
    newest.withLock { $0 = progress }
    guard showsProgress else { return }
    let now = SystemClock.monotonic()
    let isDue = bar.withLock { last -> Bool in
      guard last == 0 || now - last > 100_000_000 else { return false }
      last = now
      return true
    }
    guard isDue else { return }
    var text = [progress.what, progress.steps].filter { !$0.isEmpty }.joined(separator: " ")
    if progress.total > 0 {
      if progress.isBytes { text += pace(of: progress, now) }
      let width = min(24, max(1, columns - 4 - text.count))
      // What is in progress is not done.
      let filled = Int(Double(progress.done) / Double(progress.total) * Double(width))
      let shown = min(max(0, filled), progress.isBytes ? width - 1 : width)
      text =
        "[" + String(repeating: "#", count: shown) + String(repeating: " ", count: width - shown)
        + "] \(text)"
    }
    // A longer line would not be cleared.
    StandardStream.error.write("\r\u{1B}[K" + text.prefix(columns - 1))
  }

  /// Returns the rate and the time left, once a second shows them.
  private func pace(of progress: CommandProgress, _ now: UInt64) -> String {
    let start = paces.withLock { paces -> (time: UInt64, done: Int) in
      if let start = paces[progress.what], start.done <= progress.done { return start }
      paces[progress.what] = (now, progress.done)
      return (now, progress.done)
    }
    let (seconds, bytes) = (Double(now - start.time) / 1e9, Double(progress.done - start.done))
    guard seconds >= 1, bytes > 0 else { return "" }
    let rate = bytes / seconds
    let left = Double(progress.total - progress.done) / rate
    let time =
      left < 100
      ? "\(Int(left.rounded(.up))) s"
      : left < 6000 ? "\(Int((left / 60).rounded())) min" : "\(Int((left / 3600).rounded())) h"
    return ", \(ByteCount.text(UInt64(rate)))/s, \(time) left"
  }

  func clear() {
    let isDrawn = bar.withLock { last -> Bool in
      defer { last = 0 }
      return last != 0
    }
    if isDrawn { StandardStream.error.write("\r\u{1B}[K") }
  }

  var context: CommandContext {
    Interruption.watch { [self] in
      let last = newest.withLock { $0 }
      let words =
        last.map { "; \($0.what), \($0.steps.isEmpty ? "0" : $0.steps)" } ?? ""
      complain("llvs: interrupted\(words).")
    }
    return CommandContext(
      isCancelled: { Interruption.isRequested }, progress: { [self] in progress($0) })
  }

  /// Writes everything, then ends the program as Ctrl-C ends others.
  func endByInterrupt() {
    guard Interruption.isRequested else { return }
    flush()
    Interruption.end()
  }
}
