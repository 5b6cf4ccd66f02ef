import CFuseShims
import Synchronization

/// The last error that libfuse reported, one for the process as in libfuse.
///
/// - Concurrency: Callable from any thread.
package enum FuseLog {
  /// As in syslog(3).
  package enum Level: Int32, Sendable, Comparable {
    case emergency, alert, critical, error, warning, notice, information, debug

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

  static func takeLastError() -> String {
    state.withLock { state in
      defer { state.lastError = "" }
      return state.lastError
    }
  }

  private static func take(_ level: Level, _ message: String) {
    state.withLock { state in
      // libfuse prints some sentences in pieces.
      var text = (state.beginning + message)[...]
      state.beginning = message.last == "\n" ? "" : String(text)
      while text.last == "\n" { text.removeLast() }
      if level <= .error { state.lastError = String(text) }
    }
  }
}
