import CFuseShims
import Synchronization

/// The last error that libfuse reported, one for the process as in libfuse.
///
/// - Concurrency: Callable from any thread.
package enum FuseLog {
  /// LOG_ERR of syslog(3); smaller numbers are more serious.
  private static let error: Int32 = 3

  private struct State {
    var lastError = ""
    /// The text of a line that has not ended yet.
    var beginning = ""
  }

  private static let state = Mutex(State())

  static func install() {
    unsafe llvs_fuse_set_log_sink { level, text in
      guard let text = unsafe text else { return }
      FuseLog.take(level, unsafe String(cString: text))
    }
  }

  static func takeLastError() -> String {
    state.withLock { state in
      defer { state.lastError = "" }
      return state.lastError
    }
  }

  private static func take(_ level: Int32, _ message: String) {
    state.withLock { state in
      // libfuse prints some sentences in pieces.
      var text = (state.beginning + message)[...]
      state.beginning = message.last == "\n" ? "" : String(text)
      while text.last == "\n" { text.removeLast() }
      if level <= error { state.lastError = String(text) }
    }
  }
}
