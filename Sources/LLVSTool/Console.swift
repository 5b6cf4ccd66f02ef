import FileTree
import Platform

/// What the user sees: results on standard output, errors and progress on standard error.
final class Console: Sendable {
  private let isQuiet: Bool
  private let showsProgress: Bool
  /// When the bar was last drawn, on the monotonic clock; 0 while there is none.
  private let bar = Monitor<UInt64>(0)

  init(isQuiet: Bool) {
    self.isQuiet = isQuiet
    showsProgress = !isQuiet && StandardStream.error.isTerminal
  }

  /// A line of a result.
  func say(_ text: String) {
    clear()
    guard !isQuiet, !text.isEmpty else { return }
    StandardStream.output.write(text.hasSuffix("\n") ? text : text + "\n")
  }

  /// What was asked for, also where only it is wanted.
  func tell(_ text: String) {
    clear()
    guard !text.isEmpty else { return }
    StandardStream.output.write(text.hasSuffix("\n") ? text : text + "\n")
  }

  func complain(_ text: String) {
    clear()
    StandardStream.error.write(text + "\n")
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
