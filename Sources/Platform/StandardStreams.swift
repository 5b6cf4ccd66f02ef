internal import Glibc

/// The process's own output.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Writes everything, or as much as the reader takes.
  package func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.write(rawValue, $0.baseAddress, $0.count)
      }
      if count < 0 {
        guard errno == EINTR else { return }
        continue
      }
      bytes = bytes.dropFirst(count)
    }
  }

  /// Whether somebody looks at it.
  package var isTerminal: Bool { isatty(rawValue) == 1 }
}
