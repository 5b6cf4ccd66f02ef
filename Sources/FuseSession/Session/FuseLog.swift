import CShims
import Synchronization

/// Keeps the last error that libfuse reported, which tells why a session could not be made.
///
/// There is one for the process, as in libfuse.
///
/// - Concurrency: Callable from any thread.
package enum FuseLog {
  /// The severity, as in syslog(3).
  package enum Level: Int32, Sendable, Comparable {
    case emergency, alert, critical, error, warning, notice, information, debug

    /// True if the left level is more severe.
    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  private struct State {
    var lastError = ""
    /// The text of a line that has not ended yet.
    var beginning = ""
  }

  private static let state = Mutex(State())

  static func install() {
    unsafe llvs_fuse_set_log_sink { level, text in
      guard let text = unsafe text else { return }
      FuseLog.take(Level(rawValue: level) ?? .error, unsafe String(cString: text))
    }
  }

  /// Returns the last message at error level or worse, and clears it.
  static func takeLastError() -> String {
    state.withLock { state in
      defer { state.lastError = "" }
      return state.lastError
    }
  }

  private static func take(_ level: Level, _ message: String) {
    state.withLock { state in
      // libfuse prints some sentences in pieces; the last piece ends the line.
      var text = (state.beginning + message)[...]
      state.beginning = message.last == "\n" ? "" : String(text)
      while text.last == "\n" { text.removeLast() }
      if level <= .error { state.lastError = String(text) }
    }
  }
}
