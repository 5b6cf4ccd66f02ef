import CShims
import Synchronization

/// Where libfuse's own messages go.
///
/// There is one for the process, as in libfuse.
///
/// - Concurrency: Callable from any thread.
package enum FuseLog {
  /// How bad it is, as in syslog(3).
  package enum Level: Int32, Sendable, Comparable {
    case emergency, alert, critical, error, warning, notice, information, debug

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  private struct State {
    var sink: (@Sendable (Level, String) -> Void)?
    var lastError = ""
    /// What was said of a line that has not ended.
    var beginning = ""
  }

  private static let state = Mutex(State())

  /// Sends libfuse's messages to `sink` instead of to standard error.
  package static func setSink(_ sink: @escaping @Sendable (Level, String) -> Void) {
    state.withLock { $0.sink = sink }
    install()
  }

  static func install() {
    unsafe llvs_fuse_set_log_sink { level, text in
      guard let text = unsafe text else { return }
      FuseLog.take(Level(rawValue: level) ?? .error, unsafe String(cString: text))
    }
  }

  /// The last message at error level or worse, and forgets it.
  static func takeLastError() -> String {
    state.withLock { state in
      defer { state.lastError = "" }
      return state.lastError
    }
  }

  private static func take(_ level: Level, _ message: String) {
    let (sink, text) = state.withLock { state -> ((@Sendable (Level, String) -> Void)?, String) in
      // libfuse says some sentences in pieces, of which the last ends the line.
      var text = (state.beginning + message)[...]
      state.beginning = message.last == "\n" ? "" : String(text)
      while text.last == "\n" { text.removeLast() }
      if level <= .error { state.lastError = String(text) }
      return (state.beginning.isEmpty ? state.sink : nil, String(text))
    }
    sink?(level, text)
  }
}
